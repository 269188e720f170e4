#!/bin/sh
# Creates the Temporal namespace and its search attributes if they are missing, and checks them. The script needs the
# temporal command and TEMPORAL_ADDRESS; NAMESPACE and RETENTION_DAYS have defaults. It may run again at any time.
set -eu
NAMESPACE="${NAMESPACE:-collabui}"
until temporal operator cluster health >/dev/null 2>&1; do
  tries=$((${tries:-0} + 1))
  if [ "$tries" -ge 60 ]; then
    echo "no Temporal answers at $TEMPORAL_ADDRESS" >&2
    exit 1
  fi
  sleep 2
done
temporal operator namespace describe --namespace "$NAMESPACE" >/dev/null 2>&1 ||
  temporal operator namespace create --namespace "$NAMESPACE" --retention "${RETENTION_DAYS:-90}d"
# A new namespace is known to all parts of the server after some seconds.
tries=0
until temporal operator search-attribute create --namespace "$NAMESPACE" \
  --name CollabRun --type Keyword \
  --name CollabStage --type Keyword \
  --name CollabEpoch --type Int \
  --name CollabEnvironment --type Keyword \
  --name CollabSuccessRate --type Double \
  --name CollabSystem --type Keyword; do
  tries=$((tries + 1))
  if [ "$tries" -ge 30 ]; then
    echo "the search attributes of namespace $NAMESPACE cannot be created" >&2
    exit 1
  fi
  sleep 2
done
temporal operator search-attribute list --namespace "$NAMESPACE" | grep Collab
