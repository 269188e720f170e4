{{/* The settings that all pods have: (dict "root" $ "role" "control"). */}}
{{- define "collabui.podCommon" -}}
{{- $v := .root.Values -}}
automountServiceAccountToken: false
{{- with $v.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {{ ternary $v.rollout.seccompProfile (dict "type" "RuntimeDefault") (eq .role "rollout") | toJson }}
{{- end }}

{{/* The nodes on which the pod of a role may run, and the time that it has to end. */}}
{{- define "collabui.place" -}}
{{- $r := index .root.Values .role -}}
terminationGracePeriodSeconds: {{ include "collabui.grace" $r }}
{{- $selector := $r.nodeSelector }}
{{- $tolerations := $r.tolerations }}
{{- if $r.spot.enabled }}
{{- $selector = merge (deepCopy $r.spot.nodeSelector) $selector }}
{{- $tolerations = concat $tolerations $r.spot.tolerations }}
{{- end }}
{{- with $selector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with $tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with $r.affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- end }}

{{/* The template of a pod of control, rollout, model or gpu: (dict "root" $ "role" "control"). */}}
{{- define "collabui.worker" -}}
{{- $v := .root.Values -}}
{{- $r := index $v .role -}}
{{- $name := ternary "core" .role (has .role (list "control" "model")) -}}
{{- $image := dict "root" .root "image" (index $v.images $name) "name" (printf "images.%s" $name) -}}
metadata:
  labels:
    {{- include "collabui.selector" . | nindent 4 }}
    {{- include "collabui.labels" .root | nindent 4 }}
spec:
  {{- include "collabui.podCommon" . | nindent 2 }}
  {{- include "collabui.place" . | nindent 2 }}
  {{- if eq .role "gpu" }}
  {{- with $r.runtimeClassName }}
  runtimeClassName: {{ . }}
  {{- end }}
  {{- end }}
  containers:
    - name: worker
      image: {{ include "collabui.image" $image }}
      imagePullPolicy: {{ $v.images.pullPolicy }}
      args:
        - worker
        - --roles={{ .role }}
        - --health=0.0.0.0:9090
        - --drain={{ include "collabui.drain" $r }}s
        - --work=/work
        {{- range $r.args }}
        - {{ . | quote }}
        {{- end }}
      env:
        {{- include "collabui.env" .root | nindent 8 }}
        {{- include "collabui.payloadEnv" .root | nindent 8 }}
        {{- if has .role (list "rollout" "model" "gpu") }}
        {{- include "collabui.policyEnv" .root | nindent 8 }}
        {{- end }}
        {{- if has .role (list "control" "rollout") }}
        {{- include "collabui.environmentsEnv" .root | nindent 8 }}
        {{- end }}
        {{- if has .role (list "rollout" "model") }}
        {{- include "collabui.modelEnv" .root | nindent 8 }}
        {{- end }}
      ports:
        - {name: health, containerPort: 9090}
      {{- include "collabui.probes" . | nindent 6 }}
      {{- if eq .role "gpu" }}
      {{- $gpus := dict $r.gpuResource (int $r.gpus) }}
      {{- $limits := merge (deepCopy $r.resources.limits) (ternary $gpus dict (gt (int $r.gpus) 0)) }}
      resources: {{ dict "requests" $r.resources.requests "limits" $limits | toJson }}
      {{- else }}
      resources: {{ toJson $r.resources }}
      {{- end }}
      securityContext:
        {{- include "collabui.confined" . | nindent 8 }}
      volumeMounts:
        - {name: secrets, mountPath: /run/secrets/collabui, readOnly: true}
        - {name: tmp, mountPath: /tmp}
        - {name: work, mountPath: /work}
        {{- if eq .role "gpu" }}
        - {name: memory, mountPath: /dev/shm}
        {{- if $v.models.volume }}
        - {name: models, mountPath: /models, readOnly: true}
        {{- end }}
        {{- end }}
        {{- with $v.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    {{- include "collabui.secrets" . | nindent 4 }}
    - {name: tmp, emptyDir: {}}
    {{- if eq .role "gpu" }}
    - {name: memory, emptyDir: {medium: Memory, sizeLimit: {{ $r.sharedMemory }}}}
    {{- if $r.work.storageClassName }}
    - name: work
      ephemeral:
        volumeClaimTemplate:
          spec:
            accessModes: [ReadWriteOnce]
            storageClassName: {{ $r.work.storageClassName }}
            resources: {requests: {storage: {{ $r.work.size }}}}
    {{- else }}
    - {name: work, emptyDir: {sizeLimit: {{ $r.work.size }}}}
    {{- end }}
    {{- with $v.models.volume }}
    - {{ merge (dict "name" "models") . | toJson }}
    {{- end }}
    {{- else }}
    - {name: work, emptyDir: {}}
    {{- end }}
    {{- with $v.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
