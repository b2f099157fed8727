//! Base-2 logarithm: one implementation for every device.
//!
//! Only IEEE additions, subtractions and multiplications of doubles and integer operations on their bits, in the
//! order written here; no fused step, no platform function. The largest error found over 120,000 arguments of all
//! magnitudes (dense around 1) against a 200-bit logarithm is 0.503 units in the last place.
//!
//! A table row `i` holds, for the 128 intervals that divide mantissas from 0.6875 to 1.375: a 10-bit reciprocal `c` of
//! the interval's middle, and `-log2(c)` as a high part (a multiple of 2^-40) and a low part. The two intervals next
//! to 1 have c = 1, so that nothing cancels there. Then log2(x) = k - log2(c) + log2(1 + r) with r = z c - 1.

/// log2(2 pi e), which the entropy of a normal distribution adds to the logarithm of its variance.
pub const LOG2_2PI_E: f64 = f64::from_bits(0x4010_6073_a671_183d);

/// Bits of the double at which the table's first interval starts: 0.6875.
pub const OFFSET: u64 = 0x3fe6_0000_0000_0000;

/// 1 / ln 2, rounded to 26 binary places.
pub const INV_LN2_HI: f64 = f64::from_bits(0x3ff7_1547_6400_0000);

/// The rest of 1 / ln 2.
pub const INV_LN2_LO: f64 = f64::from_bits(0x3e32_b82f_e177_7d10);

/// Coefficients of r^2 to r^9 of log2(1 + r).
pub const POLY: [f64; 8] = [
    f64::from_bits(0xbfe7_1547_652b_82fe),
    f64::from_bits(0x3fde_c709_dc3a_03fd),
    f64::from_bits(0xbfd7_1547_652b_82fe),
    f64::from_bits(0x3fd2_776c_50ef_9bfe),
    f64::from_bits(0xbfce_c709_dc3a_03fd),
    f64::from_bits(0x3fca_6176_2a7a_ded9),
    f64::from_bits(0xbfc7_1547_652b_82fe),
    f64::from_bits(0x3fc4_84b1_3d7c_02a9),
];

/// log2 of a double: NaN below 0, minus infinity at 0 of either sign.
pub fn log2(x: f64) -> f64 {
    log2_body(x)
}

/// [`log2`], to be compiled into its caller.
#[inline(always)]
pub(crate) fn log2_body(x: f64) -> f64 {
    // Subnormals are scaled up by 2^52, exactly.
    let tiny = x.abs() < f64::MIN_POSITIVE;
    let ix = (if tiny { x * 4_503_599_627_370_496.0 } else { x }).to_bits();
    let t = ix.wrapping_sub(OFFSET);
    let [c, log_hi, log_lo] = TABLE[(t >> 45) as usize & 127].map(f64::from_bits);
    let k = ((t as i64) >> 52) as i32 - if tiny { 52 } else { 0 };
    // x = 2^k z, 0.6875 <= z < 1.375; z in a part of 21 bits and the rest, so that both products with c are exact.
    let iz = ix.wrapping_sub(t & 0xfff0_0000_0000_0000);
    let z = f64::from_bits(iz);
    let z_hi = f64::from_bits(iz & 0xffff_ffff_0000_0000);
    let z_lo = z - z_hi;
    let r_a = z_hi * c - 1.0;
    let r_b = z_lo * c;
    let r = r_a + r_b;
    let err = (r_a - r) + r_b;
    // 26 bits of r times 27 bits of 1/ln 2 is exact.
    let r_hi = f64::from_bits(r.to_bits() & 0xffff_ffff_f800_0000);
    let r_lo = (r - r_hi) + err;
    let hi = f64::from(k) + log_hi;
    let t1 = r_hi * INV_LN2_HI;
    let s = hi + t1;
    let lo = (hi - s) + t1;
    let r2 = r * r;
    let mut p = POLY[7];
    p = POLY[6] + r * p;
    p = POLY[5] + r * p;
    p = POLY[4] + r * p;
    p = POLY[3] + r * p;
    p = POLY[2] + r * p;
    p = POLY[1] + r * p;
    p = POLY[0] + r * p;
    let y = s + (((lo + log_lo) + (r_lo * INV_LN2_HI + r * INV_LN2_LO)) + r2 * p);
    // Not a positive finite number: infinity and NaN stay, 0 gives minus infinity, the rest NaN.
    let y = if x < f64::INFINITY { y } else { x };
    let y = if x < 0.0 { f64::NAN } else { y };
    if x == 0.0 { f64::NEG_INFINITY } else { y }
}

/// Rows of c, -log2(c) high, -log2(c) low, as the bits of doubles.
pub const TABLE: [[u64; 3]; 128] = [
    [0x3ff7_3800_0000_0000, 0xbfe1_30e4_a4a3_e000, 0xbd5a_4f5c_2959_29c1],
    [0x3ff7_1000_0000_0000, 0xbfe0_e117_754d_8000, 0x3d3f_7762_8aa1_aed8],
    [0x3ff6_f000_0000_0000, 0xbfe0_a0dc_34f8_e000, 0xbd2f_bc00_d8d6_cbcf],
    [0x3ff6_d000_0000_0000, 0xbfe0_6047_19f2_4000, 0xbd5d_647d_323e_3e73],
    [0x3ff6_b000_0000_0000, 0xbfe0_1f57_2772_6000, 0xbd43_7fc8_cafd_ef46],
    [0x3ff6_9000_0000_0000, 0xbfdf_bc16_b902_8000, 0x3d57_f5dc_5726_6758],
    [0x3ff6_7000_0000_0000, 0xbfdf_38c5_67bc_c000, 0xbd35_0343_f8df_4b43],
    [0x3ff6_5000_0000_0000, 0xbfde_b4b8_47d1_4000, 0xbd5b_ce53_e5c9_e604],
    [0x3ff6_3000_0000_0000, 0xbfde_2fed_3d09_8000, 0x3d4a_cfe4_1bb5_518c],
    [0x3ff6_1800_0000_0000, 0xbfdd_cbd7_08b1_8000, 0x3d49_4eee_c576_a001],
    [0x3ff5_f800_0000_0000, 0xbfdd_45ba_735b_c000, 0x3d55_b0f6_3b03_cdcc],
    [0x3ff5_d800_0000_0000, 0xbfdc_bed9_f5bb_8000, 0xbd40_d40b_b201_0158],
    [0x3ff5_b800_0000_0000, 0xbfdc_3733_502d_0000, 0xbd33_de15_e265_b5d9],
    [0x3ff5_a000_0000_0000, 0xbfdb_d0f2_e9e7_8000, 0xbd50_30ab_442c_e320],
    [0x3ff5_8000_0000_0000, 0xbfdb_47eb_f738_8000, 0xbd25_0520_a377_c7ec],
    [0x3ff5_6000_0000_0000, 0xbfda_be18_797f_0000, 0xbd5f_48e1_a472_5559],
    [0x3ff5_4800_0000_0000, 0xbfda_5632_2edd_4000, 0x3d41_9d3a_d7d1_7743],
    [0x3ff5_2800_0000_0000, 0xbfd9_caf2_f149_8000, 0xbd4f_4753_235d_8401],
    [0x3ff5_1000_0000_0000, 0xbfd9_61f9_0527_4000, 0xbd03_719e_b3af_5b8d],
    [0x3ff4_f000_0000_0000, 0xbfd8_d546_73b5_c000, 0xbd2b_8d59_e849_2d6e],
    [0x3ff4_d800_0000_0000, 0xbfd8_6b33_2056_c000, 0xbd5b_0147_9b91_2ba3],
    [0x3ff4_c000_0000_0000, 0xbfd8_00a5_6316_0000, 0xbd5c_5432_aeb6_09f5],
    [0x3ff4_a000_0000_0000, 0xbfd7_71d2_ba7f_0000, 0x3d33_106e_404c_abb7],
    [0x3ff4_8800_0000_0000, 0xbfd7_0623_0515_8000, 0x3d52_e2b1_46e8_2f87],
    [0x3ff4_7000_0000_0000, 0xbfd6_99f5_248c_c000, 0xbd54_b868_c548_5435],
    [0x3ff4_5000_0000_0000, 0xbfd6_08f1_b429_4000, 0xbd41_5b2d_e01c_ea41],
    [0x3ff4_3800_0000_0000, 0xbfd5_9b98_e4de_4000, 0x3d58_e3c3_a8b0_5151],
    [0x3ff4_2000_0000_0000, 0xbfd5_2dbd_fc4c_8000, 0xbd56_b37d_cf60_e620],
    [0x3ff4_0800_0000_0000, 0xbfd4_bf5f_c36e_8000, 0xbd35_dccc_af64_9933],
    [0x3ff3_f000_0000_0000, 0xbfd4_507c_fedd_4000, 0xbd4f_8729_ab41_3ffa],
    [0x3ff3_d800_0000_0000, 0xbfd3_e114_6ebc_8000, 0xbd5f_f1c3_6e43_34ae],
    [0x3ff3_c000_0000_0000, 0xbfd3_7124_cea4_c000, 0xbd4b_d9b3_2266_d92c],
    [0x3ff3_a800_0000_0000, 0xbfd3_00ac_d58c_c000, 0x3d33_c1a3_716e_e61f],
    [0x3ff3_9000_0000_0000, 0xbfd2_8fab_35b3_4000, 0x3d59_7c9c_fc5e_95be],
    [0x3ff3_7800_0000_0000, 0xbfd2_1e1e_9c87_8000, 0x3d43_8e4d_c75f_5845],
    [0x3ff3_6000_0000_0000, 0xbfd1_ac05_b292_0000, 0x3d4f_1f5a_e718_f241],
    [0x3ff3_4800_0000_0000, 0xbfd1_395f_1b5b_8000, 0x3d5e_5a42_6432_5dd0],
    [0x3ff3_3000_0000_0000, 0xbfd0_c629_7554_4000, 0x3d55_715b_04e0_5be8],
    [0x3ff3_1800_0000_0000, 0xbfd0_5263_59ba_c000, 0x3d4c_993c_7044_4a49],
    [0x3ff3_0000_0000_0000, 0xbfcf_bc16_b902_8000, 0x3d47_f5dc_5726_6758],
    [0x3ff2_e800_0000_0000, 0xbfce_d240_1866_0000, 0x3d50_5705_3957_d5e0],
    [0x3ff2_d800_0000_0000, 0xbfce_35b6_89cd_0000, 0xbd53_2a7c_c3e2_b7b3],
    [0x3ff2_c000_0000_0000, 0xbfcd_49ee_4c32_8000, 0x3d53_481b_85a5_4d7f],
    [0x3ff2_a800_0000_0000, 0xbfcc_5cf7_7f86_0000, 0xbd30_4cc6_600a_133e],
    [0x3ff2_9000_0000_0000, 0xbfcb_6ecf_175f_8000, 0xbd45_e96b_ed8c_ce30],
    [0x3ff2_8000_0000_0000, 0xbfca_cf5e_2db5_0000, 0x3d43_6c10_1ee1_3440],
    [0x3ff2_6800_0000_0000, 0xbfc9_df31_868c_0000, 0xbd41_d4cc_2f68_b868],
    [0x3ff2_5000_0000_0000, 0xbfc8_edca_e835_0000, 0xbd55_b5da_e6a1_0cca],
    [0x3ff2_4000_0000_0000, 0xbfc8_4c2b_d02f_0000, 0xbd1d_97ee_9124_773b],
    [0x3ff2_2800_0000_0000, 0xbfc7_58b2_bb6c_8000, 0x3d22_2804_34bd_a911],
    [0x3ff2_1800_0000_0000, 0xbfc6_b5ae_f4ab_0000, 0x3d48_23df_91c7_3155],
    [0x3ff2_0000_0000_0000, 0xbfc5_c01a_39fc_0000, 0x3d54_bc30_2ffa_76fb],
    [0x3ff1_f000_0000_0000, 0xbfc5_1bab_907a_8000, 0x3d51_badb_a7fb_b3d2],
    [0x3ff1_d800_0000_0000, 0xbfc4_23f1_c2c1_0000, 0xbd57_5127_a010_c764],
    [0x3ff1_c800_0000_0000, 0xbfc3_7e11_d8b1_0000, 0xbd3f_1140_2643_56b8],
    [0x3ff1_b000_0000_0000, 0xbfc2_8429_4b07_8000, 0xbd53_1fc6_bb45_5652],
    [0x3ff1_a000_0000_0000, 0xbfc1_dcd1_9755_0000, 0xbd55_bdaf_522a_183c],
    [0x3ff1_8800_0000_0000, 0xbfc0_e0b0_5ac8_8000, 0x3d5b_897a_a62a_4155],
    [0x3ff1_7800_0000_0000, 0xbfc0_37da_278f_0000, 0xbd54_383e_7225_801f],
    [0x3ff1_6800_0000_0000, 0xbfbf_1cd2_1258_0000, 0x3d3e_742a_6951_096d],
    [0x3ff1_5000_0000_0000, 0xbfbd_1e34_e35c_0000, 0x3d5f_496c_bd31_c337],
    [0x3ff1_4000_0000_0000, 0xbfbb_c842_40ae_0000, 0x3d55_1167_134e_9647],
    [0x3ff1_3000_0000_0000, 0xbfba_7111_df35_0000, 0x3d5e_db05_2ee9_f871],
    [0x3ff1_1800_0000_0000, 0xbfb8_6bf0_7508_0000, 0x3d57_ce3a_5004_6090],
    [0x3ff1_0800_0000_0000, 0xbfb7_119b_876c_0000, 0x3d35_7a03_6639_e53a],
    [0x3ff0_f800_0000_0000, 0xbfb5_b600_a40c_0000, 0x3d45_86bc_96fc_0e9c],
    [0x3ff0_e800_0000_0000, 0xbfb4_591d_6311_0000, 0x3d43_d2fd_c034_2261],
    [0x3ff0_d000_0000_0000, 0xbfb2_4b5b_7e13_0000, 0xbd56_8f22_68b3_cd45],
    [0x3ff0_c000_0000_0000, 0xbfb0_eb38_9fa3_0000, 0x3d58_1953_0c22_d152],
    [0x3ff0_b000_0000_0000, 0xbfaf_1389_8332_0000, 0xbd44_e7e8_7341_aeee],
    [0x3ff0_a000_0000_0000, 0xbfac_4dfa_b90a_0000, 0xbd55_6bde_9f1f_0d3d],
    [0x3ff0_9000_0000_0000, 0xbfa9_85bf_c34a_0000, 0x3d55_cd73_ebe3_895e],
    [0x3ff0_7800_0000_0000, 0xbfa5_5459_2bb8_0000, 0xbd59_aaf3_765c_7079],
    [0x3ff0_6800_0000_0000, 0xbfa2_8559_05ca_0000, 0xbd4c_3d62_8a19_e6d4],
    [0x3ff0_5800_0000_0000, 0xbf9f_6734_acf8_0000, 0xbd3a_5671_e1bd_4ae8],
    [0x3ff0_4800_0000_0000, 0xbf99_be2f_7748_0000, 0xbd5a_cc25_307f_9e98],
    [0x3ff0_3800_0000_0000, 0xbf94_0f97_8668_0000, 0xbd37_4a4c_b0be_9e8a],
    [0x3ff0_2800_0000_0000, 0xbf8c_b6c3_abd0_0000, 0xbd44_558b_51ca_da94],
    [0x3ff0_1800_0000_0000, 0xbf81_4306_8128_0000, 0x3d51_1790_209e_8847],
    [0x3ff0_0000_0000_0000, 0x0000_0000_0000_0000, 0x0000_0000_0000_0000],
    [0x3ff0_0000_0000_0000, 0x0000_0000_0000_0000, 0x0000_0000_0000_0000],
    [0x3fef_a000_0000_0000, 0x3f91_6a21_e20c_0000, 0xbd5f_5baf_436c_bec7],
    [0x3fef_6000_0000_0000, 0x3f9d_23af_c490_0000, 0x3d53_9f89_bcda_e7bd],
    [0x3fef_2000_0000_0000, 0x3fa4_7aa0_7358_0000, 0xbd51_f61a_96b8_ce77],
    [0x3fee_f000_0000_0000, 0x3fa8_f135_b810_0000, 0x3d4e_4467_5020_ccd7],
    [0x3fee_b000_0000_0000, 0x3fae_ef79_2508_0000, 0x3d56_d3ac_26e6_4b73],
    [0x3fee_7000_0000_0000, 0x3fb2_7d24_bae8_0000, 0x3d42_6d61_0050_fdb5],
    [0x3fee_4000_0000_0000, 0x3fb4_c560_fe69_0000, 0xbd54_1dfc_7d7c_3321],
    [0x3fee_0000_0000_0000, 0x3fb7_d604_96d0_0000, 0xbd51_2ce6_312e_bb82],
    [0x3fed_d000_0000_0000, 0x3fba_26cc_d998_0000, 0x3d38_5289_9427_dd61],
    [0x3fed_9000_0000_0000, 0x3fbd_4300_a252_0000, 0x3d53_505d_acd2_ed72],
    [0x3fed_6000_0000_0000, 0x3fbf_9c95_dc1d_0000, 0x3d31_64e9_32b2_d51c],
    [0x3fed_2000_0000_0000, 0x3fc1_6259_3187_0000, 0xbd52_c81d_f0fd_bc29],
    [0x3fec_f000_0000_0000, 0x3fc2_93ac_3dc1_8000, 0x3d53_3432_f2c3_3fc6],
    [0x3fec_c000_0000_0000, 0x3fc3_c6fb_650d_0000, 0xbd50_d7af_4dda_9c36],
    [0x3fec_9000_0000_0000, 0x3fc4_fc4d_4d9b_8000, 0x3d59_89af_8586_2e57],
    [0x3fec_6000_0000_0000, 0x3fc6_33a8_bf43_8000, 0xbd18_f7aa_c147_fdc1],
    [0x3fec_2000_0000_0000, 0x3fc7_d604_96cf_8000, 0x3d5d_a633_9da2_88fc],
    [0x3feb_f000_0000_0000, 0x3fc9_123c_1529_0000, 0xbd5c_9908_5939_90cf],
    [0x3feb_c000_0000_0000, 0x3fca_5094_b54d_0000, 0x3d54_1420_276d_d59d],
    [0x3feb_9000_0000_0000, 0x3fcb_9115_db83_8000, 0x3d51_ee96_9a95_f529],
    [0x3feb_6000_0000_0000, 0x3fcc_d3c7_12d3_0000, 0x3d41_0932_5dd5_e814],
    [0x3feb_3000_0000_0000, 0x3fce_18b0_0e13_0000, 0x3d42_3d06_6fdd_7c23],
    [0x3feb_1000_0000_0000, 0x3fce_f28a_acd7_0000, 0x3d51_1890_6313_e79d],
    [0x3fea_e000_0000_0000, 0x3fd0_1d9b_bcfa_8000, 0xbd5e_2ba2_5d9a_effd],
    [0x3fea_b000_0000_0000, 0x3fd0_c318_aee0_0000, 0xbd48_7f13_324f_6d23],
    [0x3fea_8000_0000_0000, 0x3fd1_69c0_5364_0000, 0xbd4d_4f1b_95e0_ff45],
    [0x3fea_5000_0000_0000, 0x3fd2_1196_e874_8000, 0xbd48_5e9a_1fc3_cc8e],
    [0x3fea_3000_0000_0000, 0x3fd2_8225_bb5e_8000, 0xbd5b_5c17_154f_4086],
    [0x3fea_0000_0000_0000, 0x3fd3_2bfe_e371_0000, 0xbd51_979a_5db6_8722],
    [0x3fe9_d000_0000_0000, 0x3fd3_d712_bf9c_8000, 0x3d5d_eecc_6237_2284],
    [0x3fe9_b000_0000_0000, 0x3fd4_49d1_15ef_8000, 0xbd23_c49c_247a_b6af],
    [0x3fe9_8000_0000_0000, 0x3fd4_f6fb_b2ce_c000, 0x3d36_61e3_93a1_6b95],
    [0x3fe9_6000_0000_0000, 0x3fd5_6b22_e6b5_8000, 0xbd3c_6d8d_8653_1d56],
    [0x3fe9_3000_0000_0000, 0x3fd6_1a71_7cac_0000, 0x3d59_8311_5f01_e8fe],
    [0x3fe9_1000_0000_0000, 0x3fd6_900a_8836_c000, 0x3d50_d507_4f35_e53c],
    [0x3fe8_e000_0000_0000, 0x3fd7_418a_cebc_0000, 0xbd4c_e293_5fff_809a],
    [0x3fe8_c000_0000_0000, 0x3fd7_b89f_02cf_4000, 0xbd55_52ce_0ec3_a295],
    [0x3fe8_a000_0000_0000, 0x3fd8_304d_90c1_0000, 0x3d5f_d32a_3ab0_a4b5],
    [0x3fe8_7000_0000_0000, 0x3fd8_e4f8_3fa1_4000, 0x3d37_b6bf_20f1_e8c4],
    [0x3fe8_5000_0000_0000, 0x3fd9_5e2f_9b52_0000, 0xbd4f_63a1_b326_4f72],
    [0x3fe8_3000_0000_0000, 0x3fd9_d806_ebc9_8000, 0x3d52_1b8c_1b8b_7dfd],
    [0x3fe8_0000_0000_0000, 0x3fda_8ff9_7181_0000, 0x3d44_bc30_2ffa_76fb],
    [0x3fe7_e000_0000_0000, 0x3fdb_0b67_f4f4_8000, 0xbd57_f00a_f09d_c1c7],
    [0x3fe7_c000_0000_0000, 0x3fdb_877c_57b1_c000, 0xbd4f_2020_3b31_86a6],
    [0x3fe7_a000_0000_0000, 0x3fdc_0438_59e3_0000, 0xbd22_6424_15d4_7384],
    [0x3fe7_8000_0000_0000, 0x3fdc_819d_c2d4_4000, 0x3d5f_e438_95d8_ac46],
    [0x3fe7_5000_0000_0000, 0x3fdd_3ef7_76d4_4000, 0xbcc8_1e2b_378f_f59d],
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Arguments and their logarithms correctly rounded from a 200-bit computation.
    const ROUNDED: [(u64, u64); 15] = [
        (0x4008000000000000, 0x3ff95c01a39fbd68),
        (0x4024000000000000, 0x400a934f0979a371),
        (0x3fb999999999999a, 0xc00a934f0979a371),
        (0x3ff0000020000000, 0x3e8715474e163bb8),
        (0x3fefffffe0000000, 0xbe77154770b626b8),
        (0x3fd28f5c28f5c28f, 0xbffc92f1de3bf459),
        (0x01a56e1fc2f8f359, 0xc08f24a09f1a8b89),
        (0x0000000000000001, 0xc090c80000000000),
        (0x7fefffffffffffff, 0x4090000000000000),
        (0x3ff0000000000001, 0x3cb71547652b82fd),
        (0x3fefffffffffffff, 0xbca71547652b82fe),
        (0x404ca00000000000, 0x40175b583ce23906),
        (0x3fe8000000000000, 0xbfda8ff971810a5e),
        (0x3ff8000000000000, 0x3fe2b803473f7ad1),
        (0x40c81cd6c8b43958, 0x402b2ef5b86e63d0),
    ];

    fn ulps(a: f64, b: f64) -> u64 {
        a.to_bits().abs_diff(b.to_bits())
    }

    #[test]
    fn known_values() {
        for (x, want) in ROUNDED {
            let got = log2(f64::from_bits(x));
            assert!(
                ulps(got, f64::from_bits(want)) <= 1,
                "log2({x:#x}) = {:#x}, not {want:#x}",
                got.to_bits()
            );
        }
        for e in -1074..1024 {
            let x = if e < -1022 {
                f64::from_bits(1 << (e + 1074))
            } else {
                f64::from_bits(((e + 1023) as u64) << 52)
            };
            assert_eq!(log2(x), f64::from(e));
        }
        assert_eq!(log2(1.0).to_bits(), 0);
    }

    #[test]
    fn values_outside_the_domain() {
        assert_eq!(log2(0.0), f64::NEG_INFINITY);
        assert_eq!(log2(-0.0), f64::NEG_INFINITY);
        assert_eq!(log2(f64::INFINITY), f64::INFINITY);
        assert!(log2(-1.0).is_nan() && log2(-f64::INFINITY).is_nan() && log2(f64::NAN).is_nan());
        assert!(log2(-1e-310).is_nan());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn within_one_ulp_of_libm(bits in 1u64..0x7ff0_0000_0000_0000) {
            let x = f64::from_bits(bits);
            prop_assert!(ulps(log2(x), libm::log2(x)) <= 1);
        }

        #[test]
        fn within_one_ulp_of_libm_near_one(d in -0.05f64..0.05) {
            let x = 1.0 + d;
            prop_assert!(ulps(log2(x), libm::log2(x)) <= 1);
        }
    }
}
