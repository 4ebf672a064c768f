/** False for a number in JSON that becomes another one when a program reads it: 9007199254740993, 1e400. */
export function isExactNumber(text: string): boolean {
  const value = Number(text);
  return Number.isNaN(value) || (Number.isFinite(value) && canonical(text) === canonical(String(value)));
}

/** Equal numbers have an equal text: the digits without zeros at their ends, and its power of ten. */
function canonical(text: string): string {
  const [, sign = '', whole = '', decimals = '', power = '0'] =
    text.toLowerCase().match(/^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/) ?? [];
  const digits = (whole + decimals).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${sign}${significant}e${Number(power) - decimals.length + digits.length - significant.length}`;
}
