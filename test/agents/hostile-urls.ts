/** URLs that must not be asked: every way that we know to write an address which is not public. */

/** Loopback, private, link-local, metadata, shared, test, multicast and reserved addresses. */
const V4 = [
  ...['127.0.0.1', '127.0.1.1', '127.127.127.127', '127.255.255.254', '0.0.0.0', '0.1.2.3'],
  ...['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  ...[
    '169.254.169.254',
    '168.63.129.16',
    '169.254.170.2',
    '169.254.0.1',
    '100.64.0.1',
    '100.100.100.200',
    '100.127.255.255',
  ],
  ...['192.0.0.1', '192.0.0.192', '192.0.2.1', '192.88.99.1', '198.18.0.1', '198.19.255.255'],
  ...['198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.250', '240.0.0.1', '255.255.255.255'],
];

const V6 = [
  ...['::1', '0:0:0:0:0:0:0:1', '::0001', '0000:0000:0000:0000:0000:0000:0000:0001', '::', '0:0::0'],
  ...['fc00::1', 'fd00:ec2::254', 'fd20:ce::254', 'fdff:ffff::1', 'fe80::1', 'febf::1', 'fec0::1'],
  ...['ff02::1', 'ff05::2', '100::1', '2001:db8::1', '2001::1', '2001:0:7f00:1::', '2001:2::1', '2001:10::1'],
  ...['2001:20::1', '3fff::1', '5f00::1', '64:ff9b:1::1', '64:ff9b:1:7f00:0:100::', '4000::1', 'ffff::1'],
];

/**
 * How the URL standard, an old C library or a sloppy parser reads one and the same IPv4 address.
 */
export function spellingsOf(address: string): string[] {
  const octets = address.split('.').map(Number);
  const [a, b, c, d] = octets as [number, number, number, number];
  const number = ((a * 256 + b) * 256 + c) * 256 + d;
  const hex = (value: number) => `0x${value.toString(16)}`;
  const octal = (value: number) => `0${value.toString(8)}`;
  const [high, low] = [(a * 256 + b).toString(16), (c * 256 + d).toString(16)];
  return [
    address,
    `${address}.`,
    String(number),
    hex(number),
    octal(number),
    octets.map(hex).join('.'),
    octets.map(octal).join('.'),
    `${hex(a)}.${b}.${octal(c)}.${d}`,
    octets.map((octet) => String(octet).padStart(1, '0')).join('.'),
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `0x0000${a.toString(16)}.${b}.${c}.${d}`,
    address.replace(/\d/g, (digit) => `%3${digit}`),
    address.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    address.replace(/\d/g, (digit) => String.fromCodePoint(0x1d7ce + Number(digit))),
    address.replaceAll('.', '。'),
    address.replaceAll('.', '%E3%80%82'),
    `[::ffff:${address}]`,
    `[::ffff:${high}:${low}]`,
    `[0:0:0:0:0:ffff:${high}:${low}]`,
    `[::${address}]`,
    `[::ffff:0:${address}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b::${high}:${low}]`,
    `[2002:${high}:${low}::]`,
    `[2002:${high}:${low}::1]`,
  ];
}

export interface HostileUrls {
  /** Refused before anything is connected to. */
  readonly refused: readonly string[];
  /** May be read in two ways; one of them is an allowed host, and the other must not be it. */
  readonly ambiguous: readonly string[];
}

/** `friend` is a host and port that may be asked; `local` are further addresses of this machine. */
export function hostileUrls(port: number, friend: string, local: readonly string[]): HostileUrls {
  const hosts = [
    ...[...V4, ...local.filter((address) => !address.includes(':'))].flatMap(spellingsOf),
    ...[...V6, ...local.filter((address) => address.includes(':'))].map((address) => `[${address}]`),
    ...[
      'localhost',
      'LOCALHOST',
      'localhost.',
      'a.localhost',
      'ｌｏｃａｌｈｏｓｔ',
      '%6c%6f%63alhost',
      'loc\u00adalhost',
    ],
    ...[
      'ip6-localhost',
      '0',
      '00',
      '0x0',
      '0.0',
      '127.1',
      '127.0.1',
      '0177.1',
      '0x7f.1',
      '①②⑦.⓪.⓪.①',
      '0x7F000001',
    ],
    ...[
      '[fe80::1%25lo]',
      '[::1%25lo]',
      '[::1%lo]',
      '[0177::1]',
      '[::1].',
      '::1',
      '[127.0.0.1]',
      '127.0.0.1.1',
    ],
    ...['127.0.0.1\u200b', '1.2.3.256', '0x100000000', '256.256.256.256', '08.0.0.1', '4294967296'],
  ];
  const loopback = `127.0.0.1:${port}`;
  return {
    refused: [
      ...new Set(hosts.map((host) => `http://${host}:${port}/`)),
      ...['https', 'HTTP', 'hTTpS'].map((scheme) => `${scheme}://${loopback}/`),
      // Other schemes.
      ...[
        'ftp',
        'gopher',
        'ws',
        'wss',
        'dict',
        'ldap',
        'redis',
        'tftp',
        'sftp',
        'smb',
        'ssh',
        'unix',
        'about',
      ].map((scheme) => `${scheme}://${loopback}/`),
      ...[
        'file:///etc/passwd',
        `file://${loopback}/`,
        'data:text/html,x',
        'javascript:fetch(1)',
        'mailto:a@b.c',
      ],
      ...[
        `blob:http://${loopback}/a`,
        `view-source:http://${loopback}/`,
        `jar:http://${loopback}!/`,
        'about:blank',
      ],
      ...[`//${loopback}/`, loopback, '/', '', 'http://', `http//${loopback}`, `:http://${loopback}`],
      // User names and passwords.
      ...[`http://${friend}@${loopback}/`, `http://user:password@${friend}/`, `http://user@${friend}/`],
      ...[`http://${friend}%40${loopback}/`, `http://a@b@${loopback}/`, `http://${loopback}@${friend}/`],
      ...[`http://${friend}:80@${loopback}/`, `http://@${friend}@${loopback}/`, `http://:x@${loopback}/`],
      // Slashes, tabs and the like, which the standard drops or takes for others.
      ...[`http:\\\\${loopback}/`, `http:/${loopback}/`, `http:${loopback}/`, `http:////${loopback}/`],
      ...[
        `http://${loopback}\\@${friend}/`,
        `http://${loopback}#@${friend}/`,
        `http://${loopback}?@${friend}/`,
      ],
      ...[
        `http://127.0.\t0.1:${port}/`,
        `http://127.\n0.0.1:${port}/`,
        `ht\ntp://${loopback}/`,
        `\thttp://${loopback}/`,
      ],
      ...[
        `http://${loopback}%09/`,
        `http://${loopback} /`,
        `http://${loopback}\u0000/`,
        `http://127.0.0.1%00:${port}/`,
      ],
      ...[
        `http://${loopback}\r\nHost: ${friend}/`,
        ` http://${loopback}/ `,
        `http://[::ffff:127.0.0.1]:${port}\\${friend}`,
      ],
      ...[`http://${friend} @${loopback}/`, `http://${friend}\t@${loopback}/`, `http:\t//${loopback}/`],
    ],
    ambiguous: [
      ...[
        `http://${friend}\\@${loopback}/`,
        `http://${friend}/@${loopback}/`,
        `http://${friend}?@${loopback}/`,
      ],
      ...[
        `http://${friend}#@${loopback}/`,
        `http://${friend}/\\${loopback}/`,
        `http://${friend}/..//${loopback}/`,
      ],
      ...[`http://${friend}/%0d%0aHost:%20${loopback}`, `http://${friend}/;@${loopback}/`],
    ],
  };
}
