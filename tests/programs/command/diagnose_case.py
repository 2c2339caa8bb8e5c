"""A test case for `allreplay diagnose`: writes jobs, reads its answers, checks refusals."""

import json

from program import Case


class DiagnoseCase(Case):
    def say(self, *words, **how):
        done = self.success("diagnose", *words, **how)
        return done

    def json(self, *words):
        return json.loads(self.say(*words, "--json").stdout)

    def refused(self, *words, names):
        error = self.refusal("diagnose", *words)
        for name in names:
            self.assertIn(name, error)
