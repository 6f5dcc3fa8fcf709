// A page of a site: opens the explorer, and says whether a file is one of those that the page offers.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("site-data").textContent);

  const openExplorer = async () => {
    const packed = document.getElementById("explorer-data");
    const place = document.getElementById("explorer");
    if (!packed || !place) return;
    const explorer = await hushtable.explore(place, JSON.parse(packed.textContent));
    if (explorer) await hushtable.address.linked(explorer, data.first, document.getElementById("explore"));
  };

  const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");

  const check = async (file) => {
    if (!globalThis.crypto?.subtle) return "This browser computes hashes on pages of https only. Compare the SHA-256 yourself.";
    const name = data.files[hex(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()))];
    return name ? `This is ${name}, as it was published here, byte for byte.` : "This is none of the files that were published here, or a byte of it was changed.";
  };

  const box = document.getElementById("check-file");
  box?.addEventListener("change", async () => {
    const said = document.getElementById("check-said");
    said.textContent = box.files.length ? await check(box.files[0]) : "";
  });
  openExplorer().then(() => { document.documentElement.dataset.drawn = "yes"; });
})();
