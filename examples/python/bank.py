"""A bank with one kind of actor, and a client that moves money in it.

    pawl run --app bank --actors Account --engine local:./data -- python3 bank.py
"""

import kar


class Account(kar.Actor):
    """An account. Its balance is durable; a transfer moves with a tail call."""

    def balance(self):
        return self.state("balance", 0)

    def deposit(self, amount):
        balance = self.balance() + amount
        self.record({"balance": balance})
        return balance

    def withdraw(self, amount):
        balance = self.balance() - amount
        if balance < 0:
            raise ValueError(f"{self.id} has only {balance + amount}")
        self.record({"balance": balance})
        return balance

    def transfer(self, to, amount):
        """Ends with a call of the other, in one step with what was withdrawn. The result is the other's."""
        self.withdraw(amount)
        return kar.TailCall("Account", to, "deposit", amount)

    def total(self, *others):
        """Calls others, and itself: an actor may be called back by whom it waits for."""
        return sum(self.call("Account", id, "balance") for id in (self.id, *others))

    def notify(self, other, amount):
        """Leaves a deposit for another behind and does not wait."""
        self.tell("Account", other, "deposit", amount)


if __name__ == "__main__":
    kar.serve([Account])
