"""What must hold of documents, whoever wrote them. Rules know controllers, never our plan."""
