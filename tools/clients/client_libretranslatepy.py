"""libretranslatepy."""
import urllib.error

from lib import TRANSLATE, WORDS, fails
from libretranslatepy import LibreTranslateAPI

client = LibreTranslateAPI(TRANSLATE + "/")
assert client.translate("one two three", "en", "de") == "four three two"
assert client.languages()[0]["code"] == "en"
assert client.detect("one two three")[0]["language"] == "en"
fails(urllib.error.HTTPError, client.translate, "one", "en", "fr")
fails(urllib.error.HTTPError, LibreTranslateAPI(WORDS + "/").translate, "one", "en", "de")
