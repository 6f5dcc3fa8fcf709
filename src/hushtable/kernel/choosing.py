"""The steps of a choice: each is a run that asks once and pauses.

What is measured, and at what price, was planned from public sizes.  A choice lives in its ledger and may wait for days;
each step takes the request's lock, and is refused if the choice went on elsewhere since it was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from hushtable.errors import LedgerError
from hushtable.kernel.counter import Counter
from hushtable.kernel.draw import Confidential
from hushtable.kernel.run import Job, run
from hushtable.kernel.spending import Account, end_request, working_on
from hushtable.kernel.warm import noise_of
from hushtable.ledger import Ledger, Spend
from hushtable.measurement import ChoiceStep
from hushtable.privacy import Cost, GaussianNoise
from hushtable.watching import silent


@dataclass(frozen=True)
class PartDrawer:
    """Draws parts of one table against one ledger; holds no counts between draws."""

    counter: Counter
    ledger: Ledger
    wait: bool = False

    def start(
        self, spend: Spend, request: str | None, step: ChoiceStep, cost: Cost, *, last: bool = False
    ) -> str:
        """Set the whole cost aside and draw the first part, unless it began before; gives the id.

        A ``last`` one ends it: a part that is a spend of its own.
        """
        with working_on(self.ledger, request, wait=self.wait) as account:
            account.begin(spend)
            if not account.charges and not account.settled:
                self._draw(account, step, cost)
            if last:
                account.end()
            return account.request

    def go_on(self, request: str, charges: int, step: ChoiceStep, cost: Cost, *, last: bool) -> None:
        """Draw the next part of a choice that has so many charges; the ``last`` one ends it."""
        with working_on(self.ledger, request, wait=self.wait) as account:
            if account.charges != charges or account.settled:
                raise LedgerError(
                    "choose.moved-on",
                    "The choice went on elsewhere since it was read; nothing was spent here.",
                    "Read it again with `hush choose show`, or session.choice(ID).",
                )
            self._draw(account, step, cost)
            if last:
                account.end()

    def end(self, request: str) -> None:
        """Free what a choice has set aside and not charged."""
        end_request(self.ledger, request, wait=self.wait)

    def tidy(self, request: str) -> None:
        """End what is only waiting for its end; whoever is working on it will do so himself."""
        try:
            end_request(self.ledger, request)
        except LedgerError as error:
            if error.code != "ledger.in-progress":
                raise

    def _draw(self, account: Account, step: ChoiceStep, cost: Cost) -> None:
        """Run a step at this cost; what was stored before is not asked again."""
        confidential = partial(Confidential, self.counter)
        run(Job.once(step, cost, confidential, [noise_of(GaussianNoise)], pauses=True), account, None, silent)
