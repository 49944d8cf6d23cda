package ticketing

import "context"

// bookFeed reads streams of records in portions, in the one goroutine that may use the transaction, while another one
// takes what was read: the next portion of each stream is read while the one before is looked at.
type bookFeed struct {
	streams []bookSource
	// wanted are the streams that have room for a portion.
	wanted chan int
}

type bookSource struct {
	read func(ctx context.Context) (more bool, err error)
	end  func()
}

// bookStream is one of them. T is a portion.
type bookStream[T any] struct {
	portions chan T
	place    int // in the feed
	wanted   chan<- int
}

// feedStream adds a stream to a feed, before it runs. read answers with the next portion, and whether there are more.
func feedStream[T any](f *bookFeed, read func(ctx context.Context) (T, bool, error)) *bookStream[T] {
	const most = 8 // streams
	if f.wanted == nil {
		f.wanted = make(chan int, most)
	}
	s := &bookStream[T]{portions: make(chan T, 1), place: len(f.streams), wanted: f.wanted}
	f.streams = append(f.streams, bookSource{
		read: func(ctx context.Context) (bool, error) {
			portion, more, err := read(ctx)
			if err != nil {
				return false, err
			}
			s.portions <- portion
			return more, nil
		},
		end: func() { close(s.portions) },
	})
	f.wanted <- s.place
	return s
}

// take is the next portion; false at the end.
func (s *bookStream[T]) take() (T, bool) {
	portion, ok := <-s.portions
	if ok {
		s.wanted <- s.place
	}
	return portion, ok
}

// run reads all streams to their ends while check takes from them in a goroutine of its own, and returns when both are
// over. check takes every stream to its end. Where the reading fails all streams end.
func (f *bookFeed) run(ctx context.Context, check func()) error {
	checked := make(chan any, 1)
	go func() {
		var panicked any
		defer func() { checked <- panicked }()
		defer func() { panicked = recover() }()
		check()
	}()
	var err error
	open := len(f.streams)
	for open > 0 && err == nil {
		select {
		case place := <-f.wanted:
			source := &f.streams[place]
			if source.end == nil {
				continue // It has ended, and its last portion was taken.
			}
			var more bool
			if more, err = source.read(ctx); !more {
				source.end()
				source.end = nil
				open--
			}
		case panicked := <-checked:
			if panicked != nil {
				panic(panicked)
			}
			return nil
		}
	}
	for i := range f.streams {
		if f.streams[i].end != nil {
			f.streams[i].end()
		}
	}
	if panicked := <-checked; panicked != nil {
		panic(panicked)
	}
	return err
}
