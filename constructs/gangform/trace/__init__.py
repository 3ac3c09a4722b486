"""Where a line of the output comes from, found by trying: what is changed above it, and does the line change?"""
