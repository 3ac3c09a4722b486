//go:build tools

// Package tools names the programs that tests/cluster builds at the versions of go.mod.
package tools

import (
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
