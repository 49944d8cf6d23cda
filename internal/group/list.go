package group

// list is a doubly linked list whose places are fields of its values, so that joining or leaving allocates nothing.
type list[V any] struct {
	root place[V]
}

// place is the position of a value in a list. A place is in at most one list at a time.
type place[V any] struct {
	prev, next *place[V]
	value      V
}

func (l *list[V]) init() {
	l.root.prev, l.root.next = &l.root, &l.root
}

func (l *list[V]) empty() bool {
	return l.root.next == &l.root
}

// first returns the value at the front, or the zero value if the list is empty.
func (l *list[V]) first() V {
	return l.root.next.value
}

// last returns the value at the end, or the zero value if the list is empty.
func (l *list[V]) last() V {
	return l.root.prev.value
}

func (l *list[V]) pushFront(p *place[V]) {
	p.insertAfter(&l.root)
}

func (l *list[V]) pushBack(p *place[V]) {
	p.insertAfter(l.root.prev)
}

func (p *place[V]) insertAfter(prev *place[V]) {
	p.prev, p.next = prev, prev.next
	p.prev.next, p.next.prev = p, p
}

func (p *place[V]) held() bool {
	return p.next != nil
}

func (p *place[V]) leave() {
	p.prev.next, p.next.prev = p.next, p.prev
	p.prev, p.next = nil, nil
}
