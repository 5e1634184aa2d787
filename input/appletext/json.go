package appletext

import (
	"bytes"
	"encoding/json"
	"errors"
)

// eachElement decodes the elements of a JSON array one by one, until more says that there is room
// for no other. Arrays are kept as they stand in the report until then: an element of three bytes
// may be a thread of a thousand.
func eachElement[T any](array json.RawMessage, more func() bool, yield func(*T)) {
	d := json.NewDecoder(bytes.NewReader(array))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return
	}
	for d.More() && more() {
		var v T
		var other *json.UnmarshalTypeError // of a field; the others are there
		if err := d.Decode(&v); err != nil && !errors.As(err, &other) {
			return
		}
		yield(&v)
	}
}

// eachMember does the same with the members of a JSON object.
func eachMember(object json.RawMessage, more func() bool, yield func(key string, value json.RawMessage)) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return
	}
	for d.More() && more() {
		key, err := d.Token()
		if err != nil {
			return
		}
		name, _ := key.(string)
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return
		}
		yield(name, value)
	}
}
