"""The AndroidWorld companion. It serves an installed android_world and one emulator over the profile collabui/1."""
