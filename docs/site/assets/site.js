// Names and stops for readers without a pointer, where the theme leaves them out.  Some of it appears late, hence the observer.
function named() {
  document.querySelectorAll(".md-search[role=dialog]:not([aria-label])").forEach((e) => e.setAttribute("aria-label", "Search"));
  const seen = new Map();
  document.querySelectorAll("nav").forEach((nav) => {
    const by = document.getElementById(nav.getAttribute("aria-labelledby"));
    const text = nav.dataset.called || nav.getAttribute("aria-label") || (by && by.textContent.trim()) || nav.title || (nav.matches(".md-code__nav") ? "Code" : "Pages");
    const times = (seen.get(text) || 0) + 1;
    seen.set(text, times);
    nav.dataset.called = text;
    const label = times > 1 ? `${text}, ${times}` : text;
    if (nav.getAttribute("aria-label") !== label) nav.setAttribute("aria-label", label);
    nav.removeAttribute("aria-labelledby");
  });
  document.querySelectorAll(".output, .md-typeset__scrollwrap, .md-typeset__table, pre, pre > code").forEach((e) => {
    if (e.scrollWidth > e.clientWidth && !e.hasAttribute("tabindex")) e.tabIndex = 0;
  });
}
document.addEventListener("DOMContentLoaded", () => {
  named();
  new MutationObserver(named).observe(document.body, { childList: true, subtree: true });
  addEventListener("resize", named);
});
