package main

import (
	"runtime"
	"runtime/debug"
)

type versionCommand struct{}

// build is the build information of the program.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

func (versionCommand) Run(p *program) error {
	b := built()
	return p.show(b, field{"Version", b.Version}, field{"Commit", b.Commit}, field{"Go", b.Go})
}

// built reads the build information that the Go tool wrote into the binary.
func built() build {
	b := build{Version: "(devel)", Commit: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	modified := false
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.modified":
			modified = setting.Value == "true"
		}
	}
	if modified {
		b.Commit += "+dirty"
	}
	return b
}
