"""Linear layouts: maps between named indices that are linear over bits, so that the images of powers of two say everything.

This is for looking at layouts from Python; compiles use the crate ``layout``.
"""

import math

__all__ = ["LinearLayout"]


def _bits(size):
    if size < 1 or size & (size - 1):
        raise ValueError(f"the size of a dimension is a power of two, and {size} is none")
    return size.bit_length() - 1


class LinearLayout:
    """A map from a position by input dimensions to one by output dimensions, linear over bits.

    ``a * b`` puts `b` behind `a`: its inputs are further bits, its outputs are shifted by the sizes of `a`'s.

    Attributes:
        bases: for each input dimension the images of 1, 2, 4, …, each a list with a number for each output dimension.
        out_dims: names and sizes of the output dimensions.
    """

    def __init__(self, bases, outs):
        self._bases = {name: [list(image) for image in images] for name, images in bases.items()}
        self._outs = dict(outs)

    @staticmethod
    def identity_1d(size, inDim, outDim):
        """Every index as it is."""
        return LinearLayout.strided_1d(size, 1, inDim, outDim)

    @staticmethod
    def strided_1d(size, stride, inDim, outDim):
        """Every index times `stride`."""
        _bits(stride)
        return LinearLayout({inDim: [[stride << bit] for bit in range(_bits(size))]}, {outDim: size * stride})

    @staticmethod
    def zeros_1d(size, inDim, outDim, outDimSize=1):
        """0 for every index."""
        _bits(outDimSize)
        return LinearLayout({inDim: [[0]] * _bits(size)}, {outDim: outDimSize})

    @staticmethod
    def from_bases(bases, out_dim_names, out_dim_sizes=None, require_surjective=True):
        """A layout by the images of powers of two.

        Args:
            bases: pairs of an input dimension and its images.
            out_dim_names: of the numbers in an image.
            out_dim_sizes: as small as the images allow where they are not given.

        Raises:
            ValueError: sizes are no powers of two, an image is outside of them, or not everything is hit although that is required.
        """
        images = [image for _, list_ in bases for image in list_]
        if any(len(image) != len(out_dim_names) for image in images):
            raise ValueError(f"an image has a number for each of {list(out_dim_names)}")
        if out_dim_sizes is None:
            largest = [max((image[at] for image in images), default=0) for at in range(len(out_dim_names))]
            out_dim_sizes = [1 << value.bit_length() for value in largest]
        for at, size in enumerate(out_dim_sizes):
            _bits(size)
            if any(not 0 <= image[at] < size for image in images):
                raise ValueError(f"an image is outside of {out_dim_names[at]}, which has size {size}")
        layout = LinearLayout(dict(bases), zip(out_dim_names, out_dim_sizes))
        if require_surjective and not layout.is_surjective():
            raise ValueError(f"Layout is expected to be surjective: {layout}")
        return layout

    @property
    def bases(self):
        return [(name, [list(image) for image in images]) for name, images in self._bases.items()]

    @property
    def out_dims(self):
        return list(self._outs.items())

    @property
    def num_in_dims(self):
        return len(self._bases)

    @property
    def num_out_dims(self):
        return len(self._outs)

    def get_in_dim_names(self):
        """The names of the input dimensions."""
        return list(self._bases)

    def get_out_dim_names(self):
        """The names of the output dimensions."""
        return list(self._outs)

    def apply(self, inputs):
        """The position that a position is mapped to, both by the names of dimensions."""
        if inputs.keys() != self._bases.keys():
            raise ValueError(f"a position has the dimensions {self.get_in_dim_names()}, and not {list(inputs)}")
        found = [0] * len(self._outs)
        for name, value in inputs.items():
            for bit, image in enumerate(self._bases[name]):
                if value >> bit & 1:
                    found = [a ^ b for a, b in zip(found, image)]
        return dict(zip(self._outs, found))

    def __mul__(self, other):
        outs = {name: self._outs.get(name, 1) * other._outs.get(name, 1) for name in {**self._outs, **other._outs}}

        def images(layout, name, scale):
            for image in layout._bases.get(name, ()):
                known = dict(zip(layout._outs, image))
                yield [known.get(out, 0) * scale(out) for out in outs]

        bases = {name: [*images(self, name, lambda out: 1), *images(other, name, lambda out: self._outs.get(out, 1))]
                 for name in {**self._bases, **other._bases}}
        return LinearLayout(bases, outs)

    def __eq__(self, other):
        return isinstance(other, LinearLayout) and (self.bases, self.out_dims) == (other.bases, other.out_dims)

    __hash__ = None

    def __repr__(self):
        lines = [f"- {name}=" + ", ".join(f"{1 << bit} -> {tuple(image)}" for bit, image in enumerate(images))
                 if images else f"- {name} is a size 1 dimension" for name, images in self._bases.items()]
        outs = ", ".join(f"{name} (size {size})" for name, size in self._outs.items())
        return "\n".join([*lines, f"where out dims are: [{outs}]"])

    def _words(self):
        """The images as numbers, with the first output dimension in the lowest bits."""
        shifts, shift = [], 0
        for size in self._outs.values():
            shifts.append(shift)
            shift += _bits(size)
        return [sum(value << by for value, by in zip(image, shifts)) for images in self._bases.values() for image in images]

    def _from_words(self, words, ins, outs):
        """A layout from such numbers; `ins` are names and bits."""
        def split(word):
            image = []
            for size in outs.values():
                image.append(word & size - 1)
                word >>= _bits(size)
            return image

        words, bases = list(words), {}
        for name, bits in ins:
            bases[name], words = [split(word) for word in words[:bits]], words[bits:]
        return LinearLayout(bases, outs)

    def _ins(self):
        return [(name, len(images)) for name, images in self._bases.items()]

    def _in_sizes(self):
        return {name: 1 << bits for name, bits in self._ins()}

    def _rank(self):
        return len(_Echelon(self._words()).rows)

    def is_surjective(self):
        """Whether every position of the output is hit."""
        return self._rank() == sum(map(_bits, self._outs.values()))

    def is_injective(self):
        """Whether no two positions have the same image."""
        return self._rank() == sum(bits for _, bits in self._ins())

    def is_invertible(self):
        """Whether both hold."""
        return self.is_surjective() and self.is_injective()

    def compose(self, outer):
        """``outer(self(x))``."""
        if set(self._outs) != set(outer._bases):
            raise ValueError(f"{self.get_out_dim_names()} are no inputs of the other layout, which has "
                             f"{outer.get_in_dim_names()}")
        for name, size in self._outs.items():
            if size > 1 << len(outer._bases[name]):
                raise ValueError(f"{name} has size {size}, and the other layout takes {1 << len(outer._bases[name])}")
        bases = {name: [list(outer.apply(dict(zip(self._outs, image))).values()) for image in images]
                 for name, images in self._bases.items()}
        return LinearLayout(bases, outer._outs)

    def invert(self):
        """The layout that undoes this one.

        Raises:
            ValueError: there is none.
        """
        if not self.is_invertible():
            raise ValueError(f"Layout is not invertible: {self}")
        return self.pseudoinvert()

    def pseudoinvert(self):
        """A layout from outputs to inputs with ``self(result(y)) == y``."""
        echelon = _Echelon(self._words())
        bits = sum(map(_bits, self._outs.values()))
        return self._from_words([echelon.solve(1 << bit) for bit in range(bits)],
                                [(name, _bits(size)) for name, size in self._outs.items()], self._in_sizes())

    def invert_and_compose(self, outer):
        """A layout from the inputs of this one to those of `outer` with ``outer(result(x)) == self(x)``."""
        if set(self._outs) != set(outer._outs):
            raise ValueError(f"both layouts have the same outputs, and not {self.get_out_dim_names()} and "
                             f"{outer.get_out_dim_names()}")
        sizes = {name: max(size, self._outs[name]) for name, size in outer._outs.items()}
        order = [list(self._outs).index(name) for name in sizes]
        mine = LinearLayout({name: [[image[at] for at in order] for image in images]
                             for name, images in self._bases.items()}, sizes)
        echelon = _Echelon(LinearLayout(outer._bases, sizes)._words())
        return self._from_words([echelon.solve(word) for word in mine._words()], self._ins(), outer._in_sizes())

    def get_matrix_view(self):
        """The matrix over bits: a row for each bit of the output, a column for each of the input."""
        words = self._words()
        return [[word >> row & 1 for word in words] for row in range(sum(map(_bits, self._outs.values())))]

    def _positions(self):
        total = sum(bits for _, bits in self._ins())
        for word in range(1 << total):
            position, rest = {}, word
            for name, bits in self._ins():
                position[name], rest = rest & (1 << bits) - 1, rest >> bits
            yield position, tuple(self.apply(position).values())

    def _picture(self, text):
        """What stands at each position of the output, a line for each row."""
        cells = {}
        for position, place in self._positions():
            cells.setdefault(place, []).append(text(position))
        sizes = list(self._outs.values())
        width = sizes[-1] if sizes else 1
        rows = math.prod(sizes[:-1])
        lines = []
        for row in range(rows):
            place, rest = [], row
            for size in reversed(sizes[:-1]):
                place.insert(0, rest % size)
                rest //= size
            lines.append(", ".join("|".join(cells.get((*place, column), ["-"])) for column in range(width)))
        return "\n".join(f"[{line}]" for line in lines) + "\n"

    def get_distributed_view(self, useHWPointOfView):
        """Which thread and register hold each element; with `useHWPointOfView` which elements each thread holds."""
        lanes = 1 << len(self._bases.get("lane", ()))
        if not useHWPointOfView:
            return self._picture(lambda at: f"T{at.get('lane', 0) + lanes * at.get('warp', 0)}:{at.get('register', 0)}")
        threads = {}
        for at, place in self._positions():
            threads.setdefault((at.get("block", 0), at.get("warp", 0), at.get("lane", 0)), []).append(place)
        return "".join(f"block {block} warp {warp} lane {lane}: {', '.join(map(str, places))}\n"
                       for (block, warp, lane), places in sorted(threads.items()))

    def get_shared_view(self, useHWPointOfView):
        """Which offset in shared memory holds each element; with `useHWPointOfView` which element each offset holds."""
        if not useHWPointOfView:
            return self._picture(lambda at: str(at.get("offset", 0)))
        return "".join(f"offset {at.get('offset', 0)}: {place}\n" for at, place in self._positions())


class _Echelon:
    """Images of powers of two, combined so that each begins with a bit of its own.

    Attributes:
        rows: by that bit, the image and which powers of two it is made of.
    """

    def __init__(self, words):
        self.rows = {}
        for at, word in enumerate(words):
            word, made_of = self._reduced(word, 1 << at)
            if word:
                self.rows[word.bit_length()] = word, made_of

    def _reduced(self, word, made_of):
        rest = 0
        while word:
            row = self.rows.get(word.bit_length())
            if row is None:
                top = 1 << word.bit_length() - 1
                rest, word = rest | top, word ^ top
            else:
                word, made_of = word ^ row[0], made_of ^ row[1]
        return rest, made_of

    def solve(self, word):
        """What has this image."""
        rest, made_of = self._reduced(word, 0)
        if rest:
            raise ValueError("the layout is not surjective: some outputs are the image of nothing")
        return made_of
