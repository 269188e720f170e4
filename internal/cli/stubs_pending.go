package cli

import "github.com/spf13/cobra"

func evalCmd(a *app) *cobra.Command      { return &cobra.Command{Use: "eval"} }
func reproduceCmd(a *app) *cobra.Command { return &cobra.Command{Use: "reproduce"} }
func envsCmd(a *app) *cobra.Command      { return &cobra.Command{Use: "envs"} }
func doctorCmd(a *app) *cobra.Command    { return &cobra.Command{Use: "doctor"} }
