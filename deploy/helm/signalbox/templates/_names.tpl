{{- define "signalbox.name" -}}
{{ .Release.Name }}
{{- end -}}
{{- define "signalbox.selector" -}}
app.kubernetes.io/name: signalbox
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{- define "signalbox.labels" -}}
app.kubernetes.io/name: signalbox
    app.kubernetes.io/instance: {{ .Release.Name }}
    app.kubernetes.io/version: {{ printf "%q" .Chart.AppVersion }}
    app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
