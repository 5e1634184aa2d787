package render

import "testing"

// TestShortName: the innermost arguments go first; operators and Rust's paths keep their
// brackets; what is not balanced is no template.
func TestShortName(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
		want  string
	}{
		{"main", 2, "main"},
		{"std::vector<int>::at(unsigned long)", 40, "std::vector<int>::at(unsigned long)"},
		{"std::vector<int, std::allocator<int>>::at(unsigned long)", 54, "std::vector<int, std::allocator<…>>::at(unsigned long)"},
		{"std::vector<int, std::allocator<int> >::at(unsigned long)", 30, "std::vector<…>::at(unsigned long)"},
		{"f<a>(b<c>, d<e<f>>)", 10, "f<…>(b<…>, d<…>)"},
		{"bool operator<(A<int> const&, A<int> const&)", 10, "bool operator<(A<…> const&, A<…> const&)"},
		{"B<A<1>>::operator->() const", 10, "B<…>::operator->() const"},
		{"S<X>::operator<=> <int>(S<X>)", 10, "S<…>::operator<=> <…>(S<…>)"},
		{"<alloc::vec::Vec<T> as core::ops::Drop>::drop", 10, "<alloc::vec::Vec<…> as core::ops::Drop>::drop"},
		{"core::ops::function::FnOnce<fn(A<u8>) -> R>::call", 10, "core::ops::function::FnOnce<…>::call"},
		{"a < b is no template", 4, "a < b is no template"},
		{"", 0, ""},
	} {
		if got := shortName(c.name, c.width); got != c.want {
			t.Errorf("%s in %d columns: %s, want %s", c.name, c.width, got, c.want)
		}
	}
}
