// Package deploy checks deploy/ against the code: every variable, command, flag, port, queue and search attribute that
// the images, the compose file and the chart name exists, no secret is written down, and every image has a version. If
// the programs that scripts/gotool.sh and scripts/venv.sh install are there, it also renders the chart and checks all
// objects against the schemas of Kubernetes.
package deploy
