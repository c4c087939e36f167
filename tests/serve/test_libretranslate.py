"""LibreTranslate's interface, with requests as its clients send them."""

import json
import os
import pathlib
import subprocess
import tempfile
import time
import urllib.parse

import heed_cli
from heed_server import Server, ServerTest, unittest

SECRET = "a-secret-of-24-characters"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class LibreTranslate(ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.models = tempfile.TemporaryDirectory()
        cls.model = pathlib.Path(cls.models.name) / "t"
        subprocess.run([os.environ["HEED_MAKE_MODEL"], cls.model, "scale=3"], check=True)
        config = pathlib.Path(cls.models.name) / "serve.toml"
        text = '[model.t]\npath = "t"\nsource_language = "de"\ntarget_language = "en"\n'
        config.write_text(text)
        chinese = pathlib.Path(cls.models.name) / "chinese.toml"
        chinese.write_text('[model.t]\npath = "t"\nlanguages = ["zh-Hans", "EN", "pt-BR"]\n')
        keyed = pathlib.Path(cls.models.name) / "keyed.toml"
        keyed.write_text(text + f'[key.one]\nsecret = "{SECRET}"\nrequests_per_minute = 2\n')
        cls.server, cls.keyed, cls.chinese = (Server("--config", file) for file in (config, keyed, chinese))

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.keyed.stop()
        cls.chinese.stop()
        cls.models.cleanup()

    def translate(self, **fields):
        status, answer = self.server.post("/translate", {"source": "de", "target": "en", **fields})
        self.assertEqual(status, 200, answer)
        return answer

    def offline(self, *lines):
        return heed_cli.run("translate", "--model", self.model, text="\n".join(lines) + "\n").stdout.decode().split("\n")[:-1]

    def test_texts_and_lists(self):
        one, other = self.offline("Ein Hund läuft im Park.", "Zwei Kinder spielen.")
        self.assertEqual(self.translate(q="Ein Hund läuft im Park."), {"translatedText": one})
        self.assertEqual(self.translate(q=["Ein Hund läuft im Park.", "Zwei Kinder spielen."]), {"translatedText": [one, other]})
        self.assertEqual(self.translate(q=[]), {"translatedText": []})
        self.assertEqual(self.translate(q=""), {"translatedText": ""})

    def test_long_texts_are_split_and_joined_as_they_were(self):
        one, other = self.offline("Ein Hund läuft im Park.", "Zwei Kinder spielen.")
        answer = self.translate(q="Ein Hund läuft im Park.  Zwei Kinder spielen.\n\n* Zwei Kinder spielen.\n")
        self.assertEqual(answer["translatedText"], f"{one}  {other}\n\n* {other}\n")
        self.assertTrue(self.translate(q="Ein Hund läuft im Park. " * 300)["translatedText"].startswith(f"{one} {one}"))
        self.assertTrue(self.translate(q="wort " * 3000)["translatedText"])
        self.assertEqual(self.translate(q="🙂 🙂\n")["translatedText"], "🙂 🙂\n")

    def test_sentences_are_limited(self):
        for fields in ({"q": "Ein Hund. " * 20000}, {"q": "<p>Ein Hund.</p>" * 20000, "format": "html"},
                       {"q": "Ein Hund. " * 2000, "alternatives": 19}):
            status, answer = self.server.post("/translate", {"source": "de", "target": "en", **fields})
            self.assertEqual(status, 400, fields["q"][:20])
            self.assertRegex(answer["error"], r"^q: has \d+ sentences, at most \d+ are translated at once$")

    def test_tags_stay_in_place(self):
        answer = self.translate(q='<p class="a">Ein <b>Hund</b> läuft.</p><pre>Ein Hund</pre>', format="html")["translatedText"]
        self.assertRegex(answer, r'^<p class="a">.*<b>.*</b>.*</p><pre>Ein Hund</pre>$')

    def test_tokens_are_counted(self):
        count = lambda: sum(int(line.split()[-1]) for line in self.server.get("/metrics")[1].decode().splitlines()
                            if line.startswith('heed_tokens_total{model="t"'))
        before = count()
        self.translate(q="Ein Hund läuft im Park.")
        end = time.monotonic() + 10.0
        while count() <= before + 5:  # they are counted after the answer
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_alternatives(self):
        answer = self.translate(q="Ein Hund läuft im Park.", alternatives=3)
        self.assertNotIn(answer["translatedText"], answer["alternatives"])
        self.assertEqual(len(set(answer["alternatives"])), len(answer["alternatives"]))
        self.assertEqual(self.server.post("/translate", {"q": "a", "source": "de", "target": "en", "alternatives": 10000})[0], 400)

    def test_the_source_is_detected(self):
        answer = self.translate(q="Der Hund läuft heute nicht durch den Park.", source="auto")
        self.assertEqual(answer["detectedLanguage"]["language"], "de")
        several = self.translate(q=["Der Hund schläft noch."] * 2, source="auto")["detectedLanguage"]
        self.assertEqual([one["language"] for one in several], ["de", "de"])
        status, guesses = self.server.post("/detect", {"q": "The dog does not run through the park today."})
        self.assertEqual((status, guesses[0]["language"]), (200, "en"))
        self.assertTrue(0 < guesses[0]["confidence"] <= 100)

    def test_detected_languages_are_found_by_their_main_part_and_whatever_their_case(self):
        def detected(text, target):
            status, answer = self.chinese.post("/translate", {"q": text, "source": "auto", "target": target})
            return status, answer.get("detectedLanguage", answer).get("language"), answer
        chinese, english = "今天天气很好，孩子们在公园里玩。", "The dog does not run through the park today."
        # The model knows no languages of its own, which it says where a direction was found.
        for text, target, code in ((chinese, "zh", "zh-Hans"), (english, "en", "EN")):
            status, language, answer = detected(text, target)
            self.assertEqual((status, language, answer["translatedText"]), (200, code, text))
        for text, target in ((chinese, "en"), (english, "ZH-hans"), ("O cachorro não corre hoje pelo parque.", "zh")):
            status, _, answer = detected(text, target)
            self.assertNotIn("is not supported", answer.get("error", ""))
            self.assertNotIn("not available", answer.get("error", ""))

    def test_types_have_no_case(self):
        expected = self.translate(q="Ein Hund.")
        fields = {"q": "Ein Hund.", "source": "de", "target": "en"}
        for kind, body in (("Application/JSON; Charset=UTF-8", json.dumps(fields)),
                           ("APPLICATION/X-WWW-FORM-URLENCODED", urllib.parse.urlencode(fields))):
            status, _, text = self.server.request("POST", "/translate", body, {"Content-Type": kind})
            self.assertEqual((status, json.loads(text)), (200, expected), kind)

    def test_a_form_that_is_not_utf8_is_refused_by_field(self):
        for body, mentions in (("q=a%FF&source=de&target=en", "^q: is not UTF-8"),
                               ("q=a&source=de%C3&target=en", "^source: is not UTF-8"),
                               ("q=a&source=de&target=en&%FF=1", "name of a field is not UTF-8")):
            status, _, text = self.server.request("POST", "/translate", body, FORM)
            self.assertEqual(status, 400)
            self.assertRegex(json.loads(text)["error"], mentions)

    def test_forms_and_addresses(self):
        expected = self.translate(q="Ein Hund & eine Katze.")
        fields = {"q": "Ein Hund & eine Katze.", "source": "DE", "target": "en", "format": "text", "alternatives": "0", "api_key": ""}
        status, _, text = self.server.request("POST", "/translate", urllib.parse.urlencode(fields), FORM)
        self.assertEqual((status, json.loads(text)), (200, expected))
        status, _, text = self.server.request("POST", "/translate?" + urllib.parse.urlencode(fields))
        self.assertEqual((status, json.loads(text)), (200, expected))
        parts = "".join(f'--xyz\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items())
        status, _, text = self.server.request("POST", "/translate", (parts + "--xyz--\r\n").encode(),
                                              {"Content-Type": "multipart/form-data; boundary=xyz"})
        self.assertEqual((status, json.loads(text)), (200, expected))

    def test_languages_and_settings(self):
        # libretranslatepy's GET has a body.
        status, _, text = self.server.request("GET", "/languages", "api_key=", FORM)
        self.assertEqual((status, json.loads(text)), (200, [{"code": "de", "name": "German", "targets": ["en"]}]))
        status, text = self.server.get("/frontend/settings")
        self.assertEqual((status, json.loads(text)["language"]["target"]), (200, {"code": "en", "name": "English"}))

    def test_errors_have_its_shape(self):
        for fields, mentions in (({}, "q"), ({"q": "a"}, "source"), ({"q": "a", "source": "de"}, "target"),
                                 ({"q": 3, "source": "de", "target": "en"}, "q"), ({"q": "a", "source": "xx", "target": "en"}, "xx"),
                                 ({"q": "a", "source": "de", "target": "fr"}, "fr"),
                                 ({"q": "a", "source": "de", "target": "en", "format": "pdf"}, "format"),
                                 ({"q": "a", "source": "de", "target": "en", "x": 1}, "x")):
            status, answer = self.server.post("/translate", fields)
            self.assertEqual((status, list(answer)), (400, ["error"]), fields)
            self.assertIn(mentions, answer["error"])
        self.assertEqual(self.server.post("/translate", "{")[0], 400)

    def test_what_is_not_supported_is_refused(self):
        for path, fields in (("/translate", {"q": "a", "source": "de", "target": "en"}), ("/detect", {"q": "a"})):
            self.assertEqual(self.server.post(path, fields)[0], 200)
            status, answer = self.server.post(path, {**fields, "secret": "a"})
            self.assertEqual(status, 400)
            self.assertIn("secret", answer["error"])
        for path in ("/translate_file", "/suggest"):
            self.assertEqual(self.server.request("POST", path, "q=a&s=b&source=de&target=en", FORM)[0], 404)

    def test_languages_and_settings_need_no_key(self):
        status, text = self.keyed.get("/languages")
        self.assertEqual((status, [one["code"] for one in json.loads(text)]), (200, ["de"]))
        status, text = self.keyed.get("/frontend/settings")
        self.assertEqual((status, json.loads(text)["keyRequired"]), (200, True))
        self.assertEqual(self.keyed.get("/languages?api_key=wrong")[0], 403)
        self.assertEqual(self.keyed.post("/detect", {"q": "Ein Hund"})[0], 400)

    def test_keys_are_among_the_fields(self):
        fields = {"q": "Ein Hund.", "source": "de", "target": "en"}
        self.assertEqual(self.keyed.post("/translate", fields)[0], 400)
        self.assertEqual(self.keyed.post("/translate", {**fields, "api_key": "wrong"})[0], 403)
        self.assertEqual(self.keyed.post("/translate", {**fields, "api_key": SECRET})[0], 200)
        self.assertEqual(self.keyed.post("/translate", fields, {"Authorization": f"Bearer {SECRET}"})[0], 200)
        status, headers, _ = self.keyed.request("POST", "/translate", json.dumps({**fields, "api_key": SECRET}),
                                                {"Content-Type": "application/json"})
        self.assertEqual(status, 429)
        self.assertGreater(int(headers["Retry-After"]), 1)


if __name__ == "__main__":
    unittest.main()
