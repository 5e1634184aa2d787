package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/backsight/backsight/lab/publicreports"
)

// runPublic goes file by file over reports that other people brought.
func runPublic(args []string) error {
	fs := flag.NewFlagSet("public", flag.ExitOnError)
	dir := fs.String("dir", "../shared/inputs/public", "the folder of reports")
	command := fs.String("backsight", "backsight", "the command")
	only := fs.String("only", "", "files whose path holds this")
	if err := fs.Parse(args); err != nil {
		return err
	}
	counts := map[publicreports.Verdict]int{}
	fmt.Println("| file | verdict | what lacks |\n|---|---|---|")
	err := publicreports.Run(context.Background(), *command, *dir, *only, func(r publicreports.Result) {
		counts[r.Verdict]++
		if said := fmt.Sprintf("%.100q", r.Said); r.Said == "" {
			fmt.Printf("| %s | %s | |\n", r.File, r.Verdict)
		} else {
			fmt.Printf("| %s | %s | %s |\n", r.File, r.Verdict, said)
		}
	})
	for _, v := range []publicreports.Verdict{publicreports.Right, publicreports.InPart, publicreports.Refused, publicreports.Wrong, publicreports.Unknown} {
		fmt.Printf("%s: %d\n", v, counts[v])
	}
	return err
}
