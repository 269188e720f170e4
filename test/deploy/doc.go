// Package deploy checks what deploy/ says against the code: every variable, command, flag, port, queue and search
// attribute that the images, the compose file and the chart name exists, no secret is written down, and every image
// has a version. With the programs that scripts/gotool.sh and scripts/venv.sh install, it renders the chart,
// too, and checks all objects against the schemas of Kubernetes.
package deploy
