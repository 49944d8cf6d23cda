package memory

import (
	"context"
	"slices"
	"strings"
	"time"
)

type secrets struct{ names *index[string] }

func newSecrets() secrets { return secrets{newIndex(strings.Compare)} }

func (r reading) SecretNames(ctx context.Context) ([]string, error) {
	return ask(ctx, r, func(s *state) []string { return slices.Clone(s.secrets.names.keys) })
}

// AppendSecretName inserts a name. The time is not kept, since nothing reads it.
func (tx *updating) AppendSecretName(ctx context.Context, name string, _ time.Time) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		if _, kept := s.secrets.names.search(name); !kept {
			s.secrets.names.add(u, name)
		}
		return nil
	})
}

// sealedUnder returns the name of the secret key that encrypted a value.
func sealedUnder(sealed string) (name string, found bool) {
	name, found = strings.CutPrefix(sealed, "s1:")
	return name[:min(len(name), 16)], found
}
