package driver

import (
	"context"
	"time"
)

// SecretReader finds the names of the secret keys that a database was used with. A name identifies a key and reveals
// nothing of it.
type SecretReader interface {
	SecretNames(ctx context.Context) ([]string, error)
}

// SecretWriter keeps the names of secret keys.
type SecretWriter interface {
	// AppendSecretName keeps a name. It is no error if the name is kept already.
	AppendSecretName(ctx context.Context, name string, at time.Time) error
}
