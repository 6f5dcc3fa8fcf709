// Lunr shares the ends of words by a key that puts letters and numbers of nodes side by side: "1" and 12 looks like "11" and 2.
// With digits in words it then finds words that there are not, and gives up.  This key says where each begins and ends.
self.lunr.TokenSet.prototype.toString = function () {
  const ends = Object.keys(this.edges).sort().map((letter) => JSON.stringify([letter, this.edges[letter].id]));
  return this._str || (this.final ? "1" : "0") + ends.join("");
};
