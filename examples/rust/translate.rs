// translate MODEL < lines: translates line by line from Rust.
//
//   rustc -O -L <where libheed.so is> translate.rs
use std::ffi::{c_char, c_int, CStr, CString};
use std::io::BufRead;
use std::ptr::{null, null_mut};

#[repr(C)]
struct Handle {
    _private: [u8; 0],
}

#[link(name = "heed")]
extern "C" {
    fn heed_error_code(error: *const Handle) -> c_int;
    fn heed_error_message(error: *const Handle) -> *const c_char;
    fn heed_error_free(error: *mut Handle);
    fn heed_translator_open(directory: *const c_char, options: *const Handle, translator: *mut *mut Handle) -> *mut Handle;
    fn heed_translator_free(translator: *mut Handle);
    fn heed_translator_translate(
        translator: *const Handle,
        lines: *const *const c_char,
        lengths: *const usize,
        count: usize,
        options: *const Handle,
        translations: *mut *mut Handle,
    ) -> *mut Handle;
    fn heed_texts_text(
        texts: *const Handle,
        input: usize,
        sample: usize,
        text: *mut *const c_char,
        length: *mut usize,
    ) -> *mut Handle;
    fn heed_texts_free(texts: *mut Handle);
}

fn check(error: *mut Handle) -> Result<(), String> {
    if error.is_null() {
        return Ok(());
    }
    unsafe {
        let message = CStr::from_ptr(heed_error_message(error)).to_string_lossy().into_owned();
        let code = heed_error_code(error);
        heed_error_free(error);
        Err(format!("error {code}: {message}"))
    }
}

struct Translator(*mut Handle);

// heed.h: models may be used by any number of threads at once.
unsafe impl Send for Translator {}
unsafe impl Sync for Translator {}

impl Translator {
    fn open(directory: &str) -> Result<Translator, String> {
        let directory = CString::new(directory).map_err(|e| e.to_string())?;
        let mut translator = null_mut();
        check(unsafe { heed_translator_open(directory.as_ptr(), null(), &mut translator) })?;
        Ok(Translator(translator))
    }

    fn translate(&self, line: &str) -> Result<String, String> {
        let (texts, lengths) = ([line.as_ptr() as *const c_char], [line.len()]);
        let mut translations = null_mut();
        unsafe {
            check(heed_translator_translate(self.0, texts.as_ptr(), lengths.as_ptr(), 1, null(), &mut translations))?;
            let (mut text, mut length) = (null(), 0);
            let found = check(heed_texts_text(translations, 0, 0, &mut text, &mut length))
                .map(|()| String::from_utf8_lossy(std::slice::from_raw_parts(text as *const u8, length)).into_owned());
            heed_texts_free(translations);
            found
        }
    }
}

impl Drop for Translator {
    fn drop(&mut self) {
        unsafe { heed_translator_free(self.0) }
    }
}

fn run() -> Result<(), String> {
    let translator = Translator::open(&std::env::args().nth(1).unwrap_or("model".to_string()))?;
    for line in std::io::stdin().lock().lines() {
        println!("{}", translator.translate(&line.map_err(|e| e.to_string())?)?);
    }
    Ok(())
}

fn main() {
    if let Err(message) = run() {
        eprintln!("{message}");
        std::process::exit(1);
    }
}
