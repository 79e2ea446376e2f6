'use strict';
// Loaded first in a thread that reads mails: a text with one of these words does what it says.

const { toWellFormed } = String.prototype;

Object.defineProperty(String.prototype, 'toWellFormed', {
  value: function () {
    const text = toWellFormed.call(this);
    if (text.includes('spin-without-end')) for (;;);
    if (text.includes('eat-memory')) for (const eaten = []; ; ) eaten.push({ eaten: `${eaten.length}` });
    if (text.includes('eat-buffers')) for (const eaten = []; ; ) eaten.push(Buffer.alloc(1_000_000, 1));
    if (text.includes('end-the-thread')) process.exit(1);
    return text;
  },
});
