#!/bin/sh
# The apps are set up once, in the AVD. The marker is beside the AVD, so that both are kept or removed together.
marker="$ANDROID_AVD_HOME/setup-finished"
set -- --host 0.0.0.0 --port 8000 --setup-marker "$marker" "$@"
rm -rf "$ANDROID_AVD_HOME"/*/*.lock # left by a killed container; no other emulator uses this AVD
if [ ! -e "$marker" ]; then
  set -- --setup "$@"
fi
exec python -m collabui_companion "$@"
