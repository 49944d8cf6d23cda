// Command zones prints the names of the time zones in the Go release that runs it, sorted: the content of zones.txt.
package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "zones:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		return err
	}
	defer archive.Close()
	var names []string
	for _, file := range archive.File {
		if !strings.HasSuffix(file.Name, "/") {
			names = append(names, file.Name)
		}
	}
	slices.Sort(names)
	var list bytes.Buffer
	for _, name := range names {
		list.WriteString(name + "\n")
	}
	if len(os.Args) > 1 {
		return os.WriteFile(os.Args[1], list.Bytes(), 0o644)
	}
	_, err = os.Stdout.Write(list.Bytes())
	return err
}
