{{/* Names. */}}
{{- define "collabui.name" -}}
{{- if contains "collabui" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-collabui" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "collabui.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{/* The labels that select the pods of this release or of a role: (dict "root" $ "role" "control"). */}}
{{- define "collabui.selector" -}}
app.kubernetes.io/name: collabui
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .role }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/* An image: (dict "root" $ "image" .Values.images.core "name" "images.core"). */}}
{{- define "collabui.image" -}}
{{- $r := required (printf "%s.repository: where was this image pushed?" .name) .image.repository -}}
{{- $tag := .image.tag | default .root.Chart.AppVersion -}}
{{- if .image.digest }}{{ $r }}@{{ .image.digest }}{{ else }}{{ $r }}:{{ $tag }}{{ end }}
{{- end }}

{{/* The seconds in which work must end: on a machine that may be taken away, within its notice. */}}
{{- define "collabui.drain" -}}
{{- if .spot.enabled }}{{ min (int .drainSeconds) (max 5 (sub (int .spot.noticeSeconds) 15)) }}
{{- else }}{{ int .drainSeconds }}{{ end }}
{{- end }}

{{/* Seconds after which the kubelet kills the pod. */}}
{{- define "collabui.grace" -}}{{ add (int (include "collabui.drain" .)) 15 }}{{- end }}

{{/* Addresses of the gateways. */}}
{{- define "collabui.policies" -}}
{{- $urls := .Values.policy.urls -}}
{{- $scheme := ternary "https" "http" (ne .Values.serve.tls.secret "") -}}
{{- if not $urls }}
{{- range $i := until (int .Values.serve.replicas) }}
{{- $n := include "collabui.name" $ }}
{{- $urls = append $urls (printf "%s://%s-serve-%d.%s-serve.%s.svc:9000/v1" $scheme $n $i $n $.Release.Namespace) }}
{{- end }}
{{- end }}
{{- if not $urls }}{{ fail "where are the policies: set policy.urls, or serve.replicas to at least 1" }}{{ end }}
{{- join "," $urls }}
{{- end }}

{{/* Variables of every process of collabui. Secrets are files. */}}
{{- define "collabui.env" -}}
- {name: COLLABUI_CLUSTER, value: "1"}
- {name: COLLABUI_TEMPORAL, value: {{ required "temporal.address" .Values.temporal.address | quote }}}
- {name: COLLABUI_NAMESPACE, value: {{ .Values.temporal.namespace | quote }}}
{{- with .Values.temporal.ui }}
- {name: COLLABUI_UI, value: {{ . | quote }}}
{{- end }}
{{- if .Values.temporal.apiKey.secret }}
- {name: COLLABUI_TEMPORAL_API_KEY_FILE, value: /run/secrets/collabui/temporal/api-key}
{{- end }}
{{- if .Values.temporal.tls.enabled }}
- {name: COLLABUI_TEMPORAL_TLS, value: "1"}
{{- with .Values.temporal.tls.serverName }}
- {name: COLLABUI_TEMPORAL_TLS_NAME, value: {{ . | quote }}}
{{- end }}
{{- if .Values.temporal.tls.secret }}
- {name: COLLABUI_TEMPORAL_TLS_CA, value: /run/secrets/collabui/temporal/ca.crt}
{{- if .Values.temporal.tls.client }}
- {name: COLLABUI_TEMPORAL_TLS_CERT, value: /run/secrets/collabui/temporal/tls.crt}
- {name: COLLABUI_TEMPORAL_TLS_KEY, value: /run/secrets/collabui/temporal/tls.key}
{{- end }}
{{- end }}
{{- end }}
- {name: COLLABUI_S3, value: {{ required "s3.url" .Values.s3.url | quote }}}
- {name: COLLABUI_BUCKET, value: {{ .Values.s3.bucket | quote }}}
- {name: COLLABUI_S3_ACCESS_KEY_FILE, value: /run/secrets/collabui/s3/access-key}
- {name: COLLABUI_S3_SECRET_KEY_FILE, value: /run/secrets/collabui/s3/secret-key}
{{- with .Values.redis.url }}
- {name: COLLABUI_REDIS, value: {{ . | quote }}}
{{- end }}
- {name: COLLABUI_POLICY, value: {{ include "collabui.policies" . | quote }}}
{{- with .Values.viewer.url }}
- {name: COLLABUI_VIEW, value: {{ . | quote }}}
{{- end }}
{{- if .Values.trust.secret.name }}
- {name: SSL_CERT_FILE, value: /run/secrets/collabui/trust/ca.crt}
{{- end }}
- {name: COLLABUI_LOG_LEVEL, value: {{ .Values.logLevel | quote }}}
- {name: COLLABUI_LOG_FORMAT, value: json}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The key of the gateways, for the gateways and their clients. */}}
{{- define "collabui.policyEnv" -}}
- {name: COLLABUI_POLICY_KEY_FILE, value: /run/secrets/collabui/policy/key}
{{- end }}

{{/* The key of environment servers, for control and rollout. */}}
{{- define "collabui.environmentsEnv" -}}
{{- if .Values.environments.secret.name }}
- {name: COLLABUI_ENVS_KEY_FILE, value: /run/secrets/collabui/environments/key}
- {name: COLLABUI_ENVS_HOSTS, value: {{ join "," .Values.environments.hosts | quote }}}
{{- end }}
{{- end }}

{{/* Keys of payloads, for all processes that read or write workflows. */}}
{{- define "collabui.payloadEnv" -}}
{{- if .Values.payloads.secret.name }}
- {name: COLLABUI_PAYLOAD_KEYS_FILE, value: /run/secrets/collabui/payloads/keys}
{{- end }}
{{- end }}

{{/* Keys of chat models, for rollout and model. */}}
{{- define "collabui.modelEnv" -}}
{{- if .Values.modelKeys.secret }}
- {name: COLLABUI_MODEL_KEYS, value: {{ join "," .Values.modelKeys.names | quote }}}
{{- range .Values.modelKeys.names }}
{{- $name := splitList "=" . | first }}
- {name: {{ $name }}_FILE, value: /run/secrets/collabui/models/{{ $name }}}
{{- end }}
{{- end }}
{{- end }}

{{/* The volume of secrets: (dict "root" $ "role" "model"). */}}
{{- define "collabui.secrets" -}}
{{- $v := .root.Values -}}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      - secret:
          name: {{ get $v.s3.secrets .role | default (required "s3.secret.name" $v.s3.secret.name) }}
          items:
            - {key: {{ $v.s3.secret.accessKey }}, path: s3/access-key}
            - {key: {{ $v.s3.secret.secretKey }}, path: s3/secret-key}
      {{- if has .role (list "rollout" "model" "gpu" "serve") }}
      - secret:
          name: {{ required "policy.secret.name" $v.policy.secret.name }}
          items: [{key: {{ $v.policy.secret.key }}, path: policy/key}]
      {{- end }}
      {{- if not (has .role (list "serve" "setup")) }}
      {{- with $v.payloads.secret }}
      {{- if .name }}
      - secret: {name: {{ .name }}, items: [{key: {{ .key }}, path: payloads/keys}]}
      {{- end }}
      {{- end }}
      {{- end }}
      {{- with $v.temporal.apiKey }}
      {{- if .secret }}
      - secret: {name: {{ .secret }}, items: [{key: {{ .key }}, path: temporal/api-key}]}
      {{- end }}
      {{- end }}
      {{- with $v.temporal.tls }}
      {{- if and .enabled .secret }}
      - secret:
          name: {{ .secret }}
          items:
            - {key: ca.crt, path: temporal/ca.crt}
            {{- if .client }}
            - {key: tls.crt, path: temporal/tls.crt}
            - {key: tls.key, path: temporal/tls.key}
            {{- end }}
      {{- end }}
      {{- end }}
      {{- if and $v.environments.secret.name (has .role (list "control" "rollout")) }}
      {{- with $v.environments.secret }}
      - secret: {name: {{ .name }}, items: [{key: {{ .key }}, path: environments/key}]}
      {{- end }}
      {{- end }}
      {{- if and $v.modelKeys.secret (has .role (list "rollout" "model")) }}
      - secret:
          name: {{ $v.modelKeys.secret }}
          items:
            {{- range $v.modelKeys.names }}
            {{- $name := splitList "=" . | first }}
            - {key: {{ $name }}, path: models/{{ $name }}}
            {{- end }}
      {{- end }}
      {{- with $v.trust.secret }}
      {{- if .name }}
      - secret: {name: {{ .name }}, items: [{key: {{ .key }}, path: trust/ca.crt}]}
      {{- end }}
      {{- end }}
      {{- if and $v.serve.tls.secret (eq .role "serve") }}
      - secret:
          name: {{ $v.serve.tls.secret }}
          items: [{key: tls.crt, path: serve/tls.crt}, {key: tls.key, path: serve/tls.key}]
      {{- end }}
      {{- if eq .role "viewer" }}
      - secret:
          name: {{ required "viewer.secret.name" $v.viewer.secret.name }}
          items: [{key: {{ $v.viewer.secret.key }}, path: viewer/key}]
      {{- end }}
{{- end }}

{{/* The restrictions of every container. */}}
{{- define "collabui.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* Health probes of a worker. */}}
{{- define "collabui.probes" -}}
startupProbe: {httpGet: {path: /health, port: health}, periodSeconds: 5, failureThreshold: 24}
livenessProbe: {httpGet: {path: /health, port: health}, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6}
readinessProbe: {httpGet: {path: /ready, port: health}, periodSeconds: 10, timeoutSeconds: 5}
{{- end }}
