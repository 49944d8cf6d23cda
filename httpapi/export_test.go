package httpapi

// EncodeData returns a response with the data, and whether it is written without reflection.
func EncodeData(data any) (body []byte, known bool, err error) {
	_, known, _ = appendData(nil, data)
	body, err = encodeResult(result{data: data}, "request")
	return body, known, err
}

// EncodeByReflection returns what package json writes.
func EncodeByReflection(data any) ([]byte, error) {
	return encode(success{Data: data, Meta: meta{RequestID: "request"}})
}
