"""Stub."""

SNAPSHOT_DATA = '/data/data/android_world/snapshots'
