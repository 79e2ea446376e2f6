'use strict';
// Loaded first in a thread that reads mails: a text with one of these words does what it says.
// Every text of a mail is tested by an expression (text/clean-text.ts).

const { test } = RegExp.prototype;

Object.defineProperty(RegExp.prototype, 'test', {
  value: function (text) {
    const isMatch = test.call(this, text);
    if (typeof text !== 'string') return isMatch;
    if (text.includes('spin-without-end')) for (;;);
    if (text.includes('eat-memory')) for (const eaten = []; ; ) eaten.push({ eaten: `${eaten.length}` });
    if (text.includes('eat-buffers')) for (const eaten = []; ; ) eaten.push(Buffer.alloc(1_000_000, 1));
    if (text.includes('end-the-thread')) process.exit(1);
    return isMatch;
  },
});
