{{- define "jobferry.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "jobferry.selector" -}}
app.kubernetes.io/name: jobferry
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "jobferry.labels" -}}
{{ include "jobferry.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* The seconds that a process may take to stop: its delay, a delivery, the outcome of it, and some to spare. Takes its variables. */}}
{{- define "jobferry.grace" -}}
{{ add 30 (max 15 (ceil (.WEBHOOK_TIMEOUT_SECONDS | default 15))) (ceil (.SHUTDOWN_DELAY_SECONDS | default 0)) }}
{{- end }}

{{/* The pod of a role. Takes a dict: root, role, settings. */}}
{{- define "jobferry.pod" -}}
metadata:
  labels:
    {{- include "jobferry.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
  {{- with .root.Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  # Jobferry does not talk to Kubernetes.
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .settings.terminationGracePeriodSeconds | default (include "jobferry.grace" (merge (deepCopy .settings.env) .root.Values.env)) }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    seccompProfile:
      type: RuntimeDefault
  # Not all on one machine.
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "jobferry.selector" .root | nindent 10 }}
          app.kubernetes.io/component: {{ .role }}
  containers:
    - name: jobferry
      image: {{ printf "%s:%s" .root.Values.image.repository (.root.Values.image.tag | default .root.Chart.AppVersion) | quote }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: [serve, --role, {{ .role }}]
      env:
        - name: PORT
          value: '8080'
        # Not on the port of the API, so that its clients cannot read them.
        - name: METRICS_PORT
          value: '9464'
        # API processes hand over jobs to workers here.
        - name: WORKER_LINK_PORT
          value: '9465'
        {{- range .root.Values.secret.keys }}
        - name: {{ . | upper | replace "-" "_" }}_FILE
          value: /run/secrets/jobferry/{{ . }}
        {{- end }}
        {{- range $name, $value := merge (deepCopy .settings.env) .root.Values.env }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
      ports:
        - name: http
          containerPort: 8080
        - name: metrics
          containerPort: 9464
        {{- if eq .role "worker" }}
        - name: link
          containerPort: 9465
        {{- end }}
      # Migrations of large tables take long, and the process is alive meanwhile. An outage of the database is no reason
      # to restart, so this does not ask for readiness.
      # Probes have a port of their own: at that of the API they would wait behind the connections of clients.
      livenessProbe:
        httpGet:
          path: /healthz
          port: metrics
        periodSeconds: 10
        timeoutSeconds: 3
        failureThreshold: 6
      readinessProbe:
        httpGet:
          path: /readyz
          port: metrics
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      resources:
        {{- toYaml .settings.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: secrets
          mountPath: /run/secrets/jobferry
          readOnly: true
        {{- if .root.Values.databaseCa.configMap }}
        - name: database-ca
          mountPath: /run/database-ca
          readOnly: true
        {{- end }}
  volumes:
    - name: secrets
      secret:
        secretName: {{ .root.Values.secret.name }}
        defaultMode: 0440
    {{- with .root.Values.databaseCa.configMap }}
    - name: database-ca
      configMap:
        name: {{ . }}
    {{- end }}
  {{- with .root.Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
