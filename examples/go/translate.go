// translate MODEL < lines: translates line by line from Go, through cgo.
//
//	CGO_CFLAGS="$(pkg-config --cflags heed)" CGO_LDFLAGS="$(pkg-config --libs heed)" go run translate.go MODEL
package main

/*
#cgo LDFLAGS: -lheed
#include <heed.h>
#include <stdlib.h>
*/
import "C"

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"unsafe"
)

// A Go error of heed's, which is freed.
func failure(failed *C.heed_error) error {
	if failed == nil {
		return nil
	}
	defer C.heed_error_free(failed)
	return errors.New(C.GoString(C.heed_error_message(failed)))
}

// The best translation of a line.
func translate(translator *C.heed_translator, line string) (string, error) {
	text := C.CString(line)
	defer C.free(unsafe.Pointer(text))
	length := C.size_t(len(line))
	var translations *C.heed_texts
	if err := failure(C.heed_translator_translate(translator, &text, &length, 1, nil, &translations)); err != nil {
		return "", err
	}
	defer C.heed_texts_free(translations)
	var found *C.char
	if err := failure(C.heed_texts_text(translations, 0, 0, &found, nil)); err != nil {
		return "", err
	}
	return C.GoString(found), nil
}

func run(model string) error {
	directory := C.CString(model)
	defer C.free(unsafe.Pointer(directory))
	var translator *C.heed_translator
	if err := failure(C.heed_translator_open(directory, nil, &translator)); err != nil {
		return err
	}
	defer C.heed_translator_free(translator)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		text, err := translate(translator, lines.Text())
		if err != nil {
			return err
		}
		fmt.Println(text)
	}
	return lines.Err()
}

func main() {
	model := "model"
	if len(os.Args) > 1 {
		model = os.Args[1]
	}
	if err := run(model); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
