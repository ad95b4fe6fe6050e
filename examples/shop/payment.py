"""Payments: an actor for each customer, on the standard library alone.

    pawl run --app shop --actors Payment --engine pawl:./data -- python3 payment.py

kar.py is that of examples/python; PYTHONPATH names its directory.
"""

import kar


class Payment(kar.Actor):
    """What a customer has paid: the sum, and the amount for each order.

    The caller makes the call once, but this process can be killed when it has written
    and not answered; then the method runs again. So it looks first, and writes the
    amount and the sum in one record.
    """

    def charge(self, order, amount):
        paid = self.state("orders", entry=order)
        if paid is not None:
            return paid
        self.change({"sum": self.state("sum", 0) + amount}, {"orders": {order: amount}})
        return amount

    def account(self):
        return {"sum": self.state("sum", 0), "orders": self.entries("orders")}


if __name__ == "__main__":
    kar.serve([Payment])
