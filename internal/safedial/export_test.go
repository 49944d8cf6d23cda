package safedial

import (
	"context"
	"net"
)

// WithBuiltIn returns a copy of the dialer that connects with dial instead of a net.Dialer.
func (d *Dialer) WithBuiltIn(dial func(ctx context.Context, network, address string) (net.Conn, error)) *Dialer {
	changed := *d
	changed.builtIn = dial
	return &changed
}
