"""A test case for `allreplay diagnose`: writes jobs, reads its answers, checks refusals."""

import json

import program


class DiagnoseCase(program.Case):
    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def say(self, *words, **how):
        done = self.run_program("diagnose", *words, **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def json(self, *words):
        return json.loads(self.say(*words, "--json").stdout)

    def refused(self, *words, names):
        done = self.run_program("diagnose", *words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for name in names:
            self.assertIn(name, done.stderr)
