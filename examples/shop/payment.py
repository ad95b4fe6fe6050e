"""Payments: an actor for each customer, on the standard library alone.

    pawl run --app shop --actors Payment --engine pawl:./data -- python3 payment.py

kar.py is that of examples/python; PYTHONPATH names its directory.
"""

import kar


class Payment(kar.Actor):
    """What a customer has paid: the sum, and the amount for each order.

    This process can be killed at any moment; then the method runs again. What it writes is
    recorded with its outcome, so it is written by the run that counts, and by no other.
    """

    def charge(self, order, amount):
        self.record({"sum": self.state("sum", 0) + amount}, {"orders": {order: amount}})
        return amount

    def account(self):
        return {"sum": self.state("sum", 0), "orders": self.entries("orders")}


if __name__ == "__main__":
    kar.serve([Payment])
