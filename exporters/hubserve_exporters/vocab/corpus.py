# ruff: noqa: RUF001 - letters that look like others are the point
"""Texts on which tokenizers differ, if they differ.

What splits text goes by classes of characters, so that every class has to meet every other: those
pairs are made here by rule. What languages, code and numbers look like is written out. All is the
same on every machine and in every run.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from random import Random

_LANGUAGES = (
    "The quick brown fox doesn't jump; it's been told that they'll've had enough, and we'd agree.",
    "I'M SURE YOU'RE RIGHT, SHE'S HERE, WE'VE WON, THEY'LL GO, I'D SAY SO, DON'T",
    "Der Fuß der Straße war naß, übermäßig höflich, und Äpfel kosteten 3,50 €.",
    "L'été dernier, nous n'avons pas mangé d'œufs à l'hôtel « Chez Zoé ».",
    "¿Cómo está, señor? ¡Qué vergüenza! Mañana será otro día.",
    "Příliš žluťoučký kůň úpěl ďábelské ódy. Zażółć gęślą jaźń.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Нещо на български, и още нещо: щастие, ъгъл, 1984 г.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία, είπε ο Σίσυφος.",
    "נסה לקרוא את זה מימין לשמאל: שלום עולם, 42.",
    "هذا نص عربي بسيط، فيه أرقام ١٢٣ وعلامات ترقيم؟",
    "یک متن فارسی با نیم‌فاصله می‌نویسم.",
    "यह हिन्दी में एक वाक्य है, जिसमें संयुक्त अक्षर क्ष त्र ज्ञ हैं।",
    "এটি একটি বাংলা বাক্য, সংখ্যা ১২৩৪।",
    "இது ஒரு தமிழ் வாக்கியம்.",
    "ภาษาไทยไม่มีช่องว่างระหว่างคำ ๑๒๓",
    "កាន់តែពិសេសអាច ភាសាខ្មែរ",
    "ეს არის ქართული ტექსტი. Սա հայերեն է։",
    "我想在苹果公司工作1314年,今天天气很好。",
    "繁體中文與简体中文混排，數字１２３和標點「」『』。",
    "日本語の文章。カタカナとひらがな、漢字が混ざる。ｶﾀｶﾅも。",
    "한국어 문장입니다. 띄어쓰기와 조사가 있어요 ㅋㅋㅋ",
    "Tiếng Việt có nhiều dấu: ở, ữ, ậ, ế, ợ, ỹ.",
    "Türkçe'de İstanbul'un ışıkları; büyük I küçük ı.",
    "Ọmọ mi, ẹ káàárọ̀; Yorùbá ni èdè wa.",
    "Ukrainian: Ґанок, їжак, є; Serbian: ђак, љубав, њега, џеп.",
    "Interlingua: naïve façade, coöperate, résumé, Ångström, Ørsted, Ćuk.",
    "人々と日々、ʰwat tʲe, ǅep i ǈubav, ʻOkina, ﾃﾞｰﾀ",
    "ꦗꦮ ᠮᠣᠩᠭᠣᠯ ⵜⴰⵎⴰⵣⵉⵖⵜ ᏣᎳᎩ ᚠᚢᚦᚨᚱᚲ",
)
_CODE = (
    "def f(x: int = 0) -> list[int]:\n    return [i**2 for i in range(x) if i % 2 == 0]\n",
    "if (a && b || !c) { x += y >> 3; z ^= ~0xFF; } // ok?\n",
    'for (int i=0;i<n;++i){\n\tprintf("%d\\n", arr[i]);\n\t\tbreak;\n}\n',
    "SELECT *, COUNT(id) FROM `t` WHERE name LIKE '%a_b%' AND x >= 1.5e-3;--end",
    '{"a": [1, 2.50, -3e10, null, true], "b\\u00e9": {"c": ""}}',
    "<div class='x' id=\"y\">&nbsp;<!-- no --></div>\r\n<br/>\r\n",
    "fn main() -> Result<(), Box<dyn Error>> { let v: Vec<&'static str> = vec![]; Ok(()) }",
    "#include <stdio.h>\n#define MAX(a,b) ((a)>(b)?(a):(b))\nint main(void){return 0;}",
    '$ curl -sSL https://example.com/a?b=c&d=%20e#f | tar -xz -C /tmp && echo "$HOME"',
    "const f = async ({a, ...b}) => `${a ?? b?.c}`;\nexport default f;",
    "\\begin{align} e^{i\\pi} + 1 &= 0 \\\\ \\frac{\\partial f}{\\partial x} \\end{align}",
    "C:\\Users\\me\\Documents\\file.txt /usr/local/bin/../lib/*.so ~/.bashrc",
    "@@ -1,3 +1,4 @@\n-old line\n+new line\n+\tindented\n context\n",
    "| a | b |\n|---|:-:|\n| 1 | `x` |\n\n# Title\n\n- [ ] item **bold** _it_ ~~no~~\n",
    "class A(B, metaclass=C):\n    __slots__ = ('a_b', 'camelCaseName', 'HTTPServer2')\n\n\n  pass",
    "0xDEADBEEF 0b1010 0o777 1_000_000 3.14159f 1e-9 .5 5. 1/2 2:30 192.168.0.1 v1.2.3-rc.4",
    "user.name+tag@mail.example.co.uk www.site.org/path/index.html?q=1&r=2",
    'x=1;y=2;z=x+y*(3-4)/5%6;w=[x,y,z][0:2];assert x!=y,"no"',
)
_EMOJI = (
    *(
        "🙂",
        "😀😃😄",
        "👍🏽 👍🏿",
        "👨‍👩‍👧‍👦 family",
        "🏳️‍🌈🏴‍☠️",
        "🇩🇪🇫🇷🇯🇵",
        "❤️ ❤ ♥️",
        "1️⃣2️⃣ #️⃣",
        "🤷🏻‍♀️ shrug",
    ),
    *(
        "a🦙b",
        "🦙🦙🦙 llama",
        "✅ done ❌ not",
        "→ ⇒ ⟶ ∀x∈ℝ: x²≥0 ∎",
        "½ ⅓ ² ³ ₁ Ⅳ ① ㊗ ٪ ‰",
        "♠♣♥♦ ☃ ☂ ★",
    ),
    *("𝕳𝖊𝖑𝖑𝖔 𝓦𝓸𝓻𝓵𝓭 𝟙𝟚𝟛", "ﬁ ﬂ ﬃ ligatures", "…–—‐‑‒―‘’‚“”„†‡•", "€£¥₹₽₿¢ 5€ $5", "™®©℠§¶"),
)
_SPACES = (
    *(
        " ",
        "  ",
        "   ",
        "\t",
        "\t\t",
        "\n",
        "\n\n",
        "\n\n\n",
        "\r\n",
        "\r\n\r\n",
        "\r",
        " \n",
        "\n ",
    ),
    *(
        " \n \n ",
        "\t \t",
        " \t\n\r ",
        "\v\f",
        "\u00a0",
        "\u2003\u2009",
        "\u3000",
        "\u200b",
        "\ufeff",
    ),
    *("\u2028\u2029", "\u0085", "\u200e\u200f"),
)
_NUMBERS = (
    *("0", "7", "42", "123", "1234", "12345", "123456", "1234567", "12345678901234567890", "007"),
    *(
        "3.14",
        "1,000,000.00",
        "-5",
        "+49 30 123456",
        "1e10",
        "50%",
        "2024-02-29T23:59:59Z",
        "1st 2nd",
    ),
    *(
        "３４５",
        "٣٤٥",
        "४५६",
        "Ⅻ",
        "x2y3z44",
        "10a20b",
        "3x3=9",
        "1.2.3.4",
        "00:00:01.500",
        "#1 No.2",
    ),
)
_CONTROLS = (
    "\0",
    "a\0b",
    "\x01\x02",
    "\x07bell\x1b[31mred\x1b[0m",
    "\x7f",
    "\x80\x9f",
    "\ufffd",
    "\ue000",
)
_CLASSES = (
    *("a", "Z", "é", "ß", "Я", "中", "あ", "한", "ا", "क", "7", "٣", "²", ".", "'", "’", "-", "_"),
    *("$", "+", "€", "。", "🙂", " ", "\n", "\t", "\u00a0", "\u0301", "\u200d", "/"),
)
_COUNT = 500


def corpus() -> tuple[str, ...]:
    """500 texts, the short ones first."""
    written = (*_SPACES, *_NUMBERS, *_EMOJI, *_CONTROLS, *_LANGUAGES, *_CODE, *_long())
    spaced = (f"{space}word{space}{space}x{space}" for space in _SPACES)
    texts = dict.fromkeys((*written, *spaced))
    for text in _mixtures(_COUNT):
        if len(texts) == _COUNT:
            break
        texts[text] = None
    return tuple(sorted(texts, key=lambda text: (len(text), text)))


def around(tokens: Sequence[str]) -> Iterator[str]:
    """Texts with these in them, which are found before anything is split: alone, doubled, between
    words, beside spaces and line breaks, and cut short."""
    for token in tokens:
        yield token
        yield f"{token}{token}"
        yield f"before{token}after"
        yield f" {token} word  {token}\n{token}\n\nnext"
        yield token[:-1]
        yield f"x{token[1:]} {token.upper()}"


def _long() -> Iterable[str]:
    yield "a" * 300
    yield "supercalifragilisticexpialidocious" * 5
    yield "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
    yield "0123456789" * 12
    yield "ab1" * 60
    yield "=" * 120
    yield "-" * 79
    yield "!?" * 40
    yield "漢字" * 60
    yield "🙂" * 40
    yield " " * 100
    yield "\n" * 40
    yield "\t" * 25
    yield " x" * 60
    yield "e" + "\u0301" * 30
    yield "\n".join("    " * depth + "begin" for depth in range(12))


def _mixtures(count: int) -> Iterator[str]:
    """First every class of characters beside some other, then whatever a fixed seed brings."""
    pairs = [left + right for left, right in product(_CLASSES, repeat=2)]
    for start in range(0, len(pairs), 6):
        yield "".join(pairs[start : start + 6])
    random = Random(20)
    words = [word for text in (*_LANGUAGES, *_CODE) for word in text.split(" ") if word]
    for index in range(count):
        if index % 2:
            yield "".join(random.choices(_CLASSES, k=random.randint(4, 24)))
        else:
            gaps = random.choices((" ", "  ", "\n", "", ", ", "\t"), (8, 1, 1, 2, 2, 1), k=9)
            yield "".join(
                word + gap for word, gap in zip(random.sample(words, 9), gaps, strict=True)
            )
