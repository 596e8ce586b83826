import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import c3clust
from c3clust import CC, KMeans, augment, data, encoders, methods
from c3clust.encoders import pinned, text
from c3clust.errors import DataError, InputError, MissingExtraError, RunError


def encode(encoder, texts, *view):
    return encoder.encode(np.array(texts, dtype=object), *view)


def test_features_are_of_length_one_and_do_not_depend_on_the_batch(bert, sentences):
    encoder = encoders.load(f"bert:{bert}")
    h = encode(encoder, sentences)
    assert h.shape == (len(sentences), encoder.width)
    torch.testing.assert_close(h.norm(dim=1), torch.ones(len(sentences)))
    alone = torch.cat([encode(encoder, [sentence]) for sentence in sentences[:5]])
    torch.testing.assert_close(h[:5], alone, atol=1e-5, rtol=0)


def test_against_transformers(bert, sentences, no_network):
    """The mean over the tokens of the last layer, of unit length."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    theirs = transformers.BertModel.from_pretrained(bert).eval()
    pieces = (bert / "vocab.txt").read_text().split()
    rows = [[2, *(pieces.index(word) for word in sentence.split()), 3] for sentence in sentences[:4]]
    with torch.no_grad():
        y = [theirs(torch.tensor([row])).last_hidden_state[0].mean(dim=0) for row in rows]
    ours = encode(encoders.load(f"bert:{bert}"), sentences[:4])
    torch.testing.assert_close(ours, torch.nn.functional.normalize(torch.stack(y), dim=1), atol=1e-5, rtol=0)


def test_long_texts_are_cut(bert):
    encoder = encoders.load(f"bert:{bert}")
    assert encoder.describe()["tokens"] == 24
    h = encode(encoder, ["the cat " * 11, "the cat " * 11 + "soup " * 50])
    torch.testing.assert_close(h[0], h[1], atol=1e-5, rtol=0)


@pytest.mark.parametrize("spec", ["bert", "st"])
def test_a_folder_without_modules_gets_mean_pooling(bert, sentences, spec):
    expected = encode(encoders.load(f"bert:{bert}"), sentences)
    (bert / "modules.json").unlink()
    shutil.rmtree(bert / "1_Pooling")
    torch.testing.assert_close(encode(encoders.load(f"{spec}:{bert}"), sentences), expected, atol=1e-5, rtol=0)


def test_views_differ_and_come_again_with_the_seed(bert, sentences):
    encoder, policy = encoders.load(f"bert:{bert}"), augment.policy("words")

    def view(seed, policy=policy):
        return encode(encoder, sentences, policy, torch.Generator().manual_seed(seed))

    torch.testing.assert_close(view(1), view(1), atol=0, rtol=0)
    assert (view(1) - view(2)).abs().max() > 1e-3
    still = augment.policy({"policy": "words", "keep": [1, 1], "drop": 0, "dropout": 0})
    torch.testing.assert_close(view(1, still), encode(encoder, sentences), atol=0, rtol=0)
    only_dropout = augment.policy({"policy": "words", "keep": [1, 1], "drop": 0})
    assert (view(1, only_dropout) - encode(encoder, sentences)).abs().max() > 1e-3


def test_drawing_a_view_leaves_the_random_numbers_of_others_alone(bert, sentences):
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    encode(encoders.load(f"bert:{bert}"), sentences, augment.policy("words"), torch.Generator().manual_seed(0))
    torch.testing.assert_close(torch.rand(3), expected, atol=0, rtol=0)


@pytest.mark.parametrize("method", [CC, KMeans])
def test_fit_save_load_predict(bert, sentences, tmp_path, method):
    quick = {"epochs": 8} if method is CC else {}
    alone = {"fold_duplicates": False}  # else a near copy has the label of its original
    fitted = method(2, encoder=f"bert:{bert}", random_state=0, **quick, **alone).fit(sentences)
    fitted.save(tmp_path / "model")
    again = c3clust.load(tmp_path / "model", encoder=f"bert:{bert}")
    np.testing.assert_array_equal(again.predict(sentences), fitted.labels_)
    (tmp_path / "new.txt").write_text("the cat sits on the dog\n\nthe soup is hot with rice\n")
    assert again.predict(tmp_path / "new.txt").shape == (2,)
    with pytest.raises(InputError, match="takes texts"):
        again.predict(np.zeros((4, 1, 8, 8), dtype=np.uint8))


def test_a_run_needs_the_encoder_that_it_was_made_with(bert, sentences, tmp_path):
    KMeans(2, encoder=f"bert:{bert}", random_state=0).fit(sentences).save(tmp_path / "model")
    (bert / "model.safetensors").rename(bert / "moved")
    with pytest.raises((RunError, DataError), match=r"model.safetensors is missing"):
        c3clust.load(tmp_path / "model", encoder=f"bert:{bert}")


def test_without_the_package_the_message_says_how_to_get_it(monkeypatch, sentences):
    monkeypatch.setattr(text, "MODULE", "no_such_module")
    with pytest.raises(
        MissingExtraError, match=r"all-MiniLM-L6-v2, which is not installed.*pip install \"c3clust\[text"
    ):
        CC(2).fit(sentences)
    with pytest.raises(MissingExtraError, match=r"encoder='minilm' is not installed"):
        KMeans(2, encoder="minilm").fit(sentences)


def test_from_a_file_to_a_report_and_back(c3clust, bert, sentences, tmp_path, monkeypatch):
    """The small BERT stands in for the package."""
    monkeypatch.setattr(text, "_package", lambda: bert)
    monkeypatch.setenv(pinned.ALLOW, "1")
    (tmp_path / "t.txt").write_text("\n".join([*sentences[:50], "", *sentences[50:]]))
    run, quick = tmp_path / "run", ("--method", "c3", "--set", "cc_epochs=2", "--set", "epochs=1", "--set", "views=2")
    done = c3clust("fit", tmp_path / "t.txt", "-k", "2", "-o", run, *quick)
    assert done.returncode == 0, done.stderr
    assert "96 texts in 2 clusters" in done.stdout
    record = json.loads((run / "record.json").read_text())
    assert record["data"]["kind"] == "text"
    assert record["encoder"]["name"] == "all-MiniLM-L6-v2"
    assert record["encoder"]["augment"]["policy"] == "words"
    assert any("1 empty text was left out" in note for note in record["notes"])
    assert not any("trained with labels" in note for note in record["notes"])
    assert "the cat sits on the big old dog" in (run / "report.html").read_text()
    done = c3clust("predict", run, tmp_path / "t.txt")
    assert [line.split(",")[0] for line in done.stdout.splitlines()][50:53] == ["50", "52", "53"]
    monkeypatch.setattr(text, "_package", lambda: None)
    done = c3clust("predict", run, tmp_path / "t.txt")
    assert done.returncode == 2
    assert "encoder='minilm' is not installed. Install it with: pip install" in done.stderr


def test_texts_are_needed(bert):
    with pytest.raises(InputError, match="takes texts"):
        CC(2, encoder=f"bert:{bert}").fit(data.load("digits"))


def test_only_encoders_of_pictures_are_trained(bert, sentences):
    with pytest.raises(InputError, match="small-bert is one of texts"):
        CC(2, encoder=f"bert:{bert}", finetune=True).fit(sentences)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("config.json", b"{}", "cannot be read as a sentence encoder"),
        ("config.json", b"{", "cannot be read as a sentence encoder"),
        ("vocab.txt", b"a\nb\n", "has a vocabulary of .* which does not fit its network of 25"),
        ("model.safetensors", b"nonsense", "cannot be read as a sentence encoder"),
        ("modules.json", b"{", "modules.json cannot be read"),
        ("modules.json", b"[1]", "modules.json cannot be read"),
    ],
)
def test_damaged_folders_get_one_sentence(bert, name, content, words):
    (bert / name).write_bytes(content)
    with pytest.raises(DataError, match=words):
        encoders.load(f"bert:{bert}")


def test_weights_of_another_shape(bert):
    config = json.loads((bert / "config.json").read_text())
    (bert / "config.json").write_text(json.dumps({**config, "intermediate_size": 64}))
    with pytest.raises(DataError, match="cannot be read as a sentence encoder"):
        encoders.load(f"bert:{bert}")


def test_missing_weights_are_not_drawn_at_random(bert):
    state = load_file(bert / "model.safetensors")
    state.pop("encoder.layer.1.output.dense.weight")
    save_file(state, bert / "model.safetensors", {"format": "pt"})
    with pytest.raises(DataError, match=r"the weights of encoder.layer.1.output.dense.weight are missing"):
        encoders.load(f"bert:{bert}")


def test_other_files_than_safetensors_are_not_read(bert):
    torch.save(load_file(bert / "model.safetensors"), bert / "pytorch_model.bin")
    (bert / "model.safetensors").unlink()
    with pytest.raises(DataError, match=r"model.safetensors is missing"):
        encoders.load(f"st:{bert}")


@pytest.mark.parametrize("kind", ["evil.Transformer", "sentence_transformers.models.Router", "os.system"])
def test_no_code_of_a_model_is_run(bert, kind, tmp_path):
    (bert / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass Transformer: ...\n")
    modules = json.loads((bert / "modules.json").read_text())
    modules[1]["type"] = kind
    (bert / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(DataError, match=f"has a module '{kind}', which is not loaded"):
        encoders.load(f"st:{bert}")
    assert not (tmp_path / "ran").exists()


def test_a_config_with_code_of_its_own_runs_none(bert, tmp_path):
    (bert / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass Model: ...\n")
    config = json.loads((bert / "config.json").read_text())
    auto = {"auto_map": {"AutoConfig": "evil.Model", "AutoModel": "evil.Model"}, "model_type": "evil"}
    (bert / "config.json").write_text(json.dumps(config | auto))
    (bert / "sentence_bert_config.json").write_text(json.dumps({"model_args": {"trust_remote_code": True}}))
    with pytest.raises(DataError, match="cannot be read as a sentence encoder"):
        encoders.load(f"st:{bert}")
    assert not (tmp_path / "ran").exists()


def test_a_model_that_cannot_be_downloaded(monkeypatch):
    hub = pytest.importorskip("huggingface_hub", reason="sentence-transformers is not installed")

    def offline(name, **options):
        assert (name, options) == ("sentence-transformers/no-such-model", {"allow_patterns": list(text.FILES)})
        raise OSError("no network.\nTry again.")

    monkeypatch.setattr(hub, "snapshot_download", offline)
    with pytest.raises(InputError, match=r"encoder='st:no-such-model' cannot be loaded: no network\."):
        encoders.load("st:no-such-model")


def test_a_run_on_texts_is_an_encoder(bert, sentences, tmp_path):
    first = CC(2, encoder=f"bert:{bert}", epochs=2, projection_dim=6, random_state=0).fit(sentences)
    first.save(tmp_path / "first")
    with pytest.raises(RunError, match="only loaded if you name it yourself"):
        KMeans(2, encoder=str(tmp_path / "first")).fit(sentences)
    spec = f"{tmp_path / 'first'}+bert:{bert}"
    second = KMeans(2, encoder=spec, random_state=0).fit(sentences)
    np.testing.assert_array_equal(second.encoder_.encode(sentences), first.transform(sentences))
    second.save(tmp_path / "second")
    np.testing.assert_array_equal(c3clust.load(tmp_path / "second", encoder=spec).predict(sentences), second.labels_)
    third = CC(2, encoder=spec, epochs=1, views=1, random_state=0).fit(sentences)
    assert third.input_shape_ == (6,)


def test_minilm_knows_what_belongs_together():
    if text.missing():
        pytest.skip("the extra c3clust[text] is not installed")
    h = encode(
        encoders.load("minilm"), ["A dog runs in the park.", "The puppy plays outside.", "Shares fell on Monday."]
    )
    assert h[0] @ h[1] > 0.4 > 0.2 > h[0] @ h[2]


@pytest.mark.parametrize("name", ["kmeans", "c3"])
def test_a_text_alone_is_predicted_as_among_others(name, bert, sentences):
    known = methods.parameters(name)
    small = {k: v for k, v in {"n_init": 1, "members": 1, "prior": "even"}.items() if k in known}
    fitted = methods.load(name)(2, encoder=f"bert:{bert}", random_state=0, **small).fit(sentences)
    together, c = fitted.predict(sentences), fitted.predict_proba(sentences)
    for i in (0, len(sentences) - 1):
        assert fitted.predict(sentences[i : i + 1])[0] == together[i]
        np.testing.assert_allclose(fitted.predict_proba(sentences[i : i + 1])[0], c[i], rtol=1e-3, atol=1e-4)
