package symbol

import (
	"slices"
	"strings"
)

// maxScopes bounds the names of a decorated name.
const maxScopes = 64

// undecorated is the qualified name in a name that Microsoft's compilers decorated, as their program databases call procedures:
//
//	?next@Iterator@list@@QEAAHXZ    list::Iterator::next
//	??1Box@?A0x1f2e@@QEAA@XZ        `anonymous namespace'::Box::~Box
//
// Names stand innermost first; a digit is a name that came before. Templates, local names and conversions stay as they are: what
// they are called is in types, which are not read. (LLVM's MicrosoftDemangle.h has the grammar.)
func undecorated(name string) string {
	rest, own, ok := operator(name)
	if !ok {
		return name
	}
	var scopes, known []string
	for len(scopes) < maxScopes && !strings.HasPrefix(rest, "@") {
		scope, after, ok := scopeName(rest, known)
		if !ok {
			return name
		}
		if !slices.Contains(known, scope) {
			known = append(known, scope)
		}
		scopes, rest = append(scopes, scope), after
	}
	if len(rest) < 2 || rest[0] != '@' || own == "" && len(scopes) == 0 || len(scopes) == 0 && strings.HasSuffix(own, class) {
		return name // no type behind the name: decorated by somebody else
	}
	if own != "" {
		scopes = slices.Insert(scopes, 0, strings.Replace(own, class, first(scopes), 1))
	}
	slices.Reverse(scopes)
	return strings.Join(scopes, "::")
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// scopeName cuts a name off, which may be one of those before.
func scopeName(s string, before []string) (scope, rest string, ok bool) {
	if len(s) > 0 && s[0]-'0' <= 9 {
		n := int(s[0] - '0')
		if n >= len(before) {
			return "", "", false
		}
		return before[n], s[1:], true
	}
	scope, rest, ok = strings.Cut(s, "@")
	if strings.HasPrefix(scope, "?A0x") {
		return "`anonymous namespace'", rest, ok
	}
	return scope, rest, ok && scope != "" && !strings.Contains(scope, "?")
}

// class stands for the name of the class in an operator's.
const class = "\x00"

// operators are what comes behind two question marks.
var operators = [...]struct{ code, name string }{
	{"0", class}, {"1", "~" + class}, {"2", "operator new"}, {"3", "operator delete"}, {"4", "operator="}, {"5", "operator>>"}, {"6", "operator<<"},
	{"7", "operator!"}, {"8", "operator=="}, {"9", "operator!="}, {"A", "operator[]"}, {"C", "operator->"}, {"D", "operator*"}, {"E", "operator++"},
	{"F", "operator--"}, {"G", "operator-"}, {"H", "operator+"}, {"I", "operator&"}, {"K", "operator/"}, {"L", "operator%"}, {"M", "operator<"},
	{"N", "operator<="}, {"O", "operator>"}, {"P", "operator>="}, {"R", "operator()"}, {"X", "operator*="}, {"Y", "operator+="}, {"Z", "operator-="},
	{"_U", "operator new[]"}, {"_V", "operator delete[]"}, {"_E", "`vector deleting destructor'"}, {"_G", "`scalar deleting destructor'"},
}

// operator cuts the beginning of a decorated name off: own is the name of an operator, "" where a name follows.
func operator(name string) (rest, own string, ok bool) {
	rest, ok = strings.CutPrefix(name, "??")
	if !ok {
		rest, ok = strings.CutPrefix(name, "?")
		return rest, "", ok
	}
	for _, o := range operators {
		if after, is := strings.CutPrefix(rest, o.code); is {
			return after, o.name, true
		}
	}
	return "", "", false
}
