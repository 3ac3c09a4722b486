{{- define "serving.labels" -}}
app.kubernetes.io/managed-by: Helm
app.kubernetes.io/name: {{ .name }}
{{- end -}}
