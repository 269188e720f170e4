#!/bin/sh
# The apps are set up once, into the AVD; the marker lies beside it and so shares its fate.
marker="$ANDROID_AVD_HOME/setup-finished"
set -- --host 0.0.0.0 --port 8000 --setup-marker "$marker" "$@"
rm -rf "$ANDROID_AVD_HOME"/*/*.lock # left by a container that was killed; no other emulator uses this AVD
if [ ! -e "$marker" ]; then
  set -- --setup "$@"
fi
exec python -m collabui_companion "$@"
