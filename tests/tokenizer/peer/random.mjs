// Random numbers from a seed (mulberry32), so that a run can be repeated.

export class Random {
  #state;
  /// Streams with the same seed and different names are independent.
  constructor(seed, name = "") {
    this.#state = Number(seed) | 0;
    for (const c of name) this.#state = Math.imul(this.#state ^ c.codePointAt(0), 0x01000193);
  }
  #next() {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let x = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return (x ^ (x >>> 14)) >>> 0;
  }
  /// Returns an integer in [0, end).
  below(end) {
    return Math.floor((this.#next() / 2 ** 32) * end);
  }
  /// Returns true once in `times` on average.
  once(times) {
    return this.below(times) === 0;
  }
  flip() {
    return this.once(2);
  }
  pick(list) {
    return list[this.below(list.length)];
  }
  /// Returns up to `most` different elements in any order.
  some(list, most) {
    const rest = [...list];
    const some = [];
    for (let count = this.below(most + 1); count > 0 && rest.length > 0; --count) {
      some.push(...rest.splice(this.below(rest.length), 1));
    }
    return some;
  }
}
