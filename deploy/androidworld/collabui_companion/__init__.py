"""The AndroidWorld companion: serves an installed android_world and one emulator over the wire profile collabui/1."""
