package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/pe"
	"github.com/backsight/backsight/lab/readobj"
)

// runReadobj compares each file with the text beside it, FILE.unwind.txt, or with what llvm-readobj says now.
func runReadobj(args []string) error {
	wrong := 0
	for _, path := range args {
		img, err := image.Open(path, []image.Format{pe.Format()}, image.Options{Archs: backsight.CPUs(), NoDebugFiles: true})
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path + ".unwind.txt")
		if err != nil {
			if text, err = exec.Command("llvm-readobj", "--unwind", path).Output(); err != nil {
				return err
			}
		}
		functions, differ, err := readobj.Compare(img, bytes.NewReader(text))
		if err != nil {
			return err
		}
		for _, d := range differ {
			fmt.Print(d)
		}
		fmt.Printf("%s: %d functions, %d differ\n", path, functions, len(differ))
		wrong += len(differ)
		_ = img.Close() // a mapping, which can always be undone
	}
	if wrong > 0 {
		return fmt.Errorf("%d functions read otherwise", wrong)
	}
	return nil
}
