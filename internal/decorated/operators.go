package decorated

// Places in the name of an operator: of the class around, and of the type that it converts to.
const class, result = "\x00", "\x01"

// operators are what comes behind two question marks.
var operators = [...]struct{ code, name string }{
	{"0", class}, {"1", "~" + class}, {"2", "operator new"}, {"3", "operator delete"}, {"4", "operator="}, {"5", "operator>>"}, {"6", "operator<<"},
	{"7", "operator!"}, {"8", "operator=="}, {"9", "operator!="}, {"A", "operator[]"}, {"B", "operator " + result}, {"C", "operator->"},
	{"D", "operator*"}, {"E", "operator++"}, {"F", "operator--"}, {"G", "operator-"}, {"H", "operator+"}, {"I", "operator&"}, {"J", "operator->*"},
	{"K", "operator/"}, {"L", "operator%"}, {"M", "operator<"}, {"N", "operator<="}, {"O", "operator>"}, {"P", "operator>="}, {"Q", "operator,"},
	{"R", "operator()"}, {"S", "operator~"}, {"T", "operator^"}, {"U", "operator|"}, {"V", "operator&&"}, {"W", "operator||"}, {"X", "operator*="},
	{"Y", "operator+="}, {"Z", "operator-="},
	{"_0", "operator/="}, {"_1", "operator%="}, {"_2", "operator>>="}, {"_3", "operator<<="}, {"_4", "operator&="}, {"_5", "operator|="},
	{"_6", "operator^="}, {"_7", "`vftable'"}, {"_8", "`vbtable'"}, {"_9", "`vcall'"}, {"_A", "`typeof'"}, {"_B", "`local static guard'"},
	{"_D", "`vbase destructor'"}, {"_E", "`vector deleting destructor'"}, {"_F", "`default constructor closure'"},
	{"_G", "`scalar deleting destructor'"}, {"_H", "`vector constructor iterator'"}, {"_I", "`vector destructor iterator'"},
	{"_J", "`vector vbase constructor iterator'"}, {"_K", "`virtual displacement map'"}, {"_L", "`eh vector constructor iterator'"},
	{"_M", "`eh vector destructor iterator'"}, {"_N", "`eh vector vbase constructor iterator'"}, {"_O", "`copy constructor closure'"},
	{"_R2", "`RTTI Base Class Array'"}, {"_R3", "`RTTI Class Hierarchy Descriptor'"}, {"_R4", "`RTTI Complete Object Locator'"},
	{"_S", "`local vftable'"}, {"_T", "`local vftable constructor closure'"}, {"_U", "operator new[]"}, {"_V", "operator delete[]"},
	{"_X", "`placement delete closure'"}, {"_Y", "`placement delete[] closure'"},
	{"__A", "`managed vector constructor iterator'"}, {"__B", "`managed vector destructor iterator'"},
	{"__C", "`eh vector copy constructor iterator'"}, {"__D", "`eh vector vbase copy constructor iterator'"},
	{"__G", "`vector copy constructor iterator'"}, {"__H", "`vector vbase copy constructor iterator'"},
	{"__I", "`managed vector copy constructor iterator'"}, {"__J", "`local static thread guard'"}, {"__L", "operator co_await"},
	{"__M", "operator<=>"},
}

// operator reads an operator behind its question mark.
func (p *parser) operator() string {
	switch {
	case p.take("__K"): // operator"" with a name
		return `operator"" ` + p.simple()
	case p.take("_R1"): // where a base class lies
		for range 4 {
			p.number()
		}
		return "`RTTI Base Class Descriptor'"
	}
	for _, o := range operators {
		if p.take(o.code) {
			return o.name
		}
	}
	p.failed = true
	return ""
}
