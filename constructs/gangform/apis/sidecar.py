"""How Grafana's sidecar finds dashboards: by a label of ConfigMaps and, where it is told to, a folder by an annotation.

Every file in such a ConfigMap is written where Grafana reads dashboards; one ConfigMap a dashboard is advised. Sources:
values.yaml and README of the Helm chart `grafana` 9.3, and k8s-sidecar's code (`resources.py`).
"""

DASHBOARD_LABEL = "grafana_dashboard"
"""The chart's default of `sidecar.dashboards.label`."""
DASHBOARD_LABEL_VALUE = "1"
"""What kube-prometheus-stack wants as its value; the chart `grafana` alone takes every value (`labelValue: ""`)."""
FOLDER_ANNOTATION = "grafana_folder"
"""What `sidecar.dashboards.folderAnnotation` is set to by custom. The chart sets nothing, and then nobody reads it; nor
is it a folder in Grafana without `provider.foldersFromFilesStructure: true`."""
