"""The engine in Python through its C interface, with nothing but the standard library.

    python3 signalbox.py MODEL TEXT...      prints the length of an embedding and every head's answers

The environment variable SIGNALBOX_LIBRARY names libsignalbox.so if the system does not find it.
"""

import ctypes
import ctypes.util
import os
import sys
from ctypes import POINTER, Structure, byref, c_char_p, c_float, c_int32, c_size_t, c_void_p


class Error(Exception):
    """A failure of the library: one line with the problem, the place and the value."""


class Options(Structure):
    _fields_ = [("precision", c_int32), ("threads", c_int32), ("heads", POINTER(c_char_p)), ("heads_count", c_size_t),
                ("adapter", c_char_p), ("adapters", POINTER(c_char_p)), ("adapters_count", c_size_t)]


class Head(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int32), ("scores", c_int32), ("labels", POINTER(c_char_p)),
                ("labels_count", c_size_t), ("adapter", c_int32)]


class Text(Structure):
    _fields_ = [("bytes", c_char_p), ("size", c_size_t), ("adapter", c_int32)]


class Entity(Structure):
    _fields_ = [("type", c_char_p), ("begin", c_size_t), ("end", c_size_t), ("score", c_float)]


try:
    _library = ctypes.CDLL(
        os.environ.get("SIGNALBOX_LIBRARY") or ctypes.util.find_library("signalbox") or "libsignalbox.so")
except OSError as error:
    sys.exit(f"signalbox.py: {error}; set SIGNALBOX_LIBRARY to the path of libsignalbox.so")
for _name, _result, _arguments in (
        ("last_error", c_char_p, []),
        ("version", c_char_p, []),
        ("open", c_int32, [c_char_p, POINTER(Options), POINTER(c_void_p)]),
        ("close", None, [c_void_p]),
        ("dim", c_int32, [c_void_p]),
        ("heads", POINTER(Head), [c_void_p, POINTER(c_size_t)]),
        ("embed", c_int32, [c_void_p, POINTER(Text), c_size_t, c_void_p, POINTER(c_float), c_size_t]),
        ("answer", c_int32, [c_void_p, POINTER(Text), POINTER(Text), c_size_t, POINTER(c_void_p)]),
        ("answers_free", None, [c_void_p]),
        ("scores", POINTER(c_float), [c_void_p, c_size_t, c_size_t, POINTER(c_size_t)]),
        ("entities", POINTER(Entity), [c_void_p, c_size_t, c_size_t, POINTER(c_size_t)])):
    _function = getattr(_library, "signalbox_" + _name)
    _function.restype, _function.argtypes = _result, _arguments


def _check(status):
    if status != 0:
        raise Error(_library.signalbox_last_error().decode())


def _texts(texts):
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return (Text * len(encoded))(*[Text(text, len(text), 0) for text in encoded])


class Model:
    """A model directory. Offsets of spans count bytes of the text in UTF-8. Any number of threads may use a model."""

    PRECISIONS = {"f32": 0, "bf16": 1, "int8": 2}

    def __init__(self, directory, precision="f32", threads=1, heads=()):
        paths = (c_char_p * len(heads))(*[os.fsencode(head) for head in heads])
        options = Options(precision=self.PRECISIONS[precision], threads=threads, heads=paths, heads_count=len(heads))
        self._model = c_void_p()
        _check(_library.signalbox_open(os.fsencode(directory), byref(options), byref(self._model)))
        count = c_size_t()
        found = _library.signalbox_heads(self._model, byref(count))
        self.names = [head.name.decode() for head in found[:count.value]]
        self.labels = [[head.labels[i].decode() for i in range(head.labels_count)] for head in found[:count.value]]
        self.dim = _library.signalbox_dim(self._model)

    def close(self):
        _library.signalbox_close(self._model)
        self._model = c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def embed(self, texts):
        """Returns a list of numbers for each text, of Euclidean length 1."""
        out = (c_float * (len(texts) * self.dim))()
        _check(_library.signalbox_embed(self._model, _texts(texts), len(texts), None, out, len(out)))
        return [list(out[i * self.dim:(i + 1) * self.dim]) for i in range(len(texts))]

    def answer(self, texts, pairs=None):
        """Returns for each text one answer a head, in the order of `names`: the scores by label, or spans as (type, begin,
        end, score)."""
        if pairs is not None and len(pairs) != len(texts):
            raise ValueError(f"{len(pairs)} pairs for {len(texts)} texts")
        answers = c_void_p()
        second = None if pairs is None else _texts(pairs)
        _check(_library.signalbox_answer(self._model, _texts(texts), second, len(texts), byref(answers)))
        try:
            return [[self._read(answers, i, head) for head in range(len(self.labels))] for i in range(len(texts))]
        finally:
            _library.signalbox_answers_free(answers)

    def _read(self, answers, text, head):
        count = c_size_t()
        scores = _library.signalbox_scores(answers, text, head, byref(count))
        if scores:
            return dict(zip(self.labels[head], scores[:count.value]))
        entities = _library.signalbox_entities(answers, text, head, byref(count))
        return [(entity.type.decode(), entity.begin, entity.end, entity.score)
                for entity in (entities[:count.value] if entities else [])]


def main(directory, *texts):
    with Model(directory) as model:
        print(len(model.embed(texts)[0]))
        for answers in model.answer(texts):
            for name, answer in zip(model.names, answers):
                if isinstance(answer, dict):
                    label = max(answer, key=answer.get)
                    print(f"{name} {label} {answer[label]:.5f}")
                else:
                    for kind, begin, end, score in answer:
                        print(f"{name} {kind} {begin} {end} {score:.5f}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: signalbox.py MODEL TEXT...")
    try:
        main(*sys.argv[1:])
    except Error as error:
        sys.exit(str(error))
